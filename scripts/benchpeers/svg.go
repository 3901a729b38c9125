package main

import (
	"fmt"
	"math"
	"strings"
)

// curve is one conversation's cost.
type curve struct {
	name   string
	points []point
}

// panel is one figure over the number of messages.
type panel struct {
	title string
	of    func(point) float64
}

const (
	panelWidth, panelHeight = 420, 190
	left, top, right, below = 62, 34, 14, 34
)

// plot draws the curves, a panel for each figure, in plain SVG that reads on a
// light and on a dark page.
func plot(curves []curve) string {
	panels := []panel{
		{"longer than direct, ms", func(p point) float64 { return p.ms }},
		{"finding and knowing messages, ms", func(p point) float64 { return p.scan }},
		{"allocations", func(p point) float64 { return p.allocs }},
		{"allocated, KB", func(p point) float64 { return p.allocKiB }},
		{"bytes to and from Redis", func(p point) float64 { return p.redis }},
		{"tokens counted anew", func(p point) float64 { return p.counted }},
	}
	rows := (len(panels) + 1) / 2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" role="img" aria-label="Cost per turn of a conversation that grows to a thousand messages">`+"\n",
		2*panelWidth, rows*panelHeight+30)
	b.WriteString("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n")
	for i, c := range curves {
		fmt.Fprintf(&b, `<rect x="%d" y="10" width="14" height="4" fill="%s"/><text x="%d" y="16">%s</text>`+"\n", left+i*260, colours[i%len(colours)], left+20+i*260, c.name)
	}
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d,%d)">`+"\n", i%2*panelWidth, i/2*panelHeight+26)
		p.draw(&b, curves)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

var colours = [...]string{"#1f6feb", "#d1571b"}

func (p panel) draw(b *strings.Builder, curves []curve) {
	high, wide := 0.0, 1
	for _, c := range curves {
		for _, at := range c.points {
			high, wide = max(high, p.of(at)), max(wide, at.messages)
		}
	}
	high = roundUp(high)
	w, h := float64(panelWidth-left-right), float64(panelHeight-top-below)
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", left, top-8, p.title)
	for i := range 3 {
		y := float64(top) + h*float64(i)/2
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#d0d7de"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, panelWidth-right, y, y, left-6, y+4, axis(high*float64(2-i)/2))
	}
	for i := range 5 {
		x := float64(left) + w*float64(i)/4
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x, panelHeight-below+16, wide*i/4)
	}
	for i, c := range curves {
		var line []string
		for _, at := range c.points {
			v := max(0, p.of(at))
			line = append(line, fmt.Sprintf("%.1f,%.1f", float64(left)+w*float64(at.messages)/float64(wide), float64(top)+h*(1-v/high)))
		}
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.6" points="%s"/>`+"\n", colours[i%len(colours)], strings.Join(line, " "))
	}
}

// roundUp is the next number of one digit, or of one and a half.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	return math.Ceil(v/unit*2) / 2 * unit
}

func axis(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.3g", v)
}
