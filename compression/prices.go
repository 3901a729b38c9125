package compression

import (
	"math"
	"strings"

	"github.com/foldgate/foldgate/compression/chat"
)

// scheme is how a family of models counts the tokens of an image.
type scheme uint8

const (
	// tiled: fitted into 2048 by 2048, then the shorter side into 768; a base, and
	// a price for each 512-pixel tile. detail "low" is the base alone.
	tiled scheme = iota + 1
	// patched: squares of unit pixels that cover the image, each side rounded up,
	// after fitting it into most of them and its longer side into edge; times
	// milli thousandths.
	patched
	// cropped: Gemini before 3. One tile up to 384 by 384; beyond that tiles of the
	// shorter side divided by 1.5, from 256 to 768 pixels.
	cropped
	// flat: the same for every image.
	flat
)

// pricing is what an image costs a family of models.
type pricing struct {
	scheme     scheme
	base, tile int // tiled; cropped, flat: tile
	unit, edge int // patched; edge 0: no bound
	most       int // patched: patches of one image
	original   int // patched: the same with detail "original" or none; 0: most
	low        int // patched: the same with detail "low"; 0: most
	milli      int // patched: thousandths of a token for a patch
}

// pricingOf finds the row of a model by its name as callers write it, in any
// case, behind a provider, with a variant, a date or a version. Zero: none.
func pricingOf(model string) pricing {
	if len(model) > longestModel {
		return pricing{}
	}
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, "@")
	for { // leading words before a dot, as Bedrock has them
		vendor, rest, ok := strings.Cut(name, ".")
		if !ok || strings.ContainsAny(vendor, "0123456789-_") {
			break
		}
		name = rest
	}
	name = strings.NewReplacer(".", "-", "_", "-").Replace(name)
	var found pricing
	longest := 0
	for _, row := range priceTable {
		for known := range strings.FieldsSeq(row.names) {
			rest, ok := strings.CutPrefix(name, known)
			if ok && (rest == "" || rest[0] == '-') && len(known) > longest {
				found, longest = row.pricing, len(known)
			}
		}
	}
	return found
}

// longestModel bounds the names that are looked up, in bytes.
const longestModel = 256

// image is what an image of w by h pixels costs, with the detail that was asked
// for.
func (p pricing) image(w, h int, detail string) Tokens {
	switch p.scheme {
	case tiled:
		if detail == "low" {
			return Tokens(p.base)
		}
		return Tokens(p.base + p.tile*tiles(w, h))
	case patched:
		most := p.most
		switch {
		case detail == "low" && p.low > 0:
			most = p.low
		case (detail == "" || detail == "auto" || detail == "original") && p.original > 0:
			most = p.original
		}
		return Tokens((patches(w, h, p.unit, p.edge, most)*p.milli + 999) / 1000)
	case cropped:
		return Tokens(p.tile * crops(w, h))
	default:
		return Tokens(p.tile)
	}
}

// unknown is what an image costs of which the size is not known, an address for
// one: what a square of 1024 pixels does, and no less than the reference's flat
// price.
func (p pricing) unknown(detail string) Tokens {
	if detail == "low" && p.scheme == tiled || p.scheme == flat {
		return p.image(1024, 1024, detail)
	}
	return max(imageFlat, p.image(1024, 1024, detail))
}

// patches is how many squares of unit pixels cover an image, after it was made
// smaller until its longer side is at most edge and there are no more than most.
func patches(w, h, unit, edge, most int) int {
	fw, fh := float64(w), float64(h)
	if edge > 0 {
		if s := float64(edge) / max(fw, fh); s < 1 {
			fw, fh = fw*s, fh*s
		}
	}
	n := math.Ceil(fw/float64(unit)) * math.Ceil(fh/float64(unit))
	return int(min(n, float64(most)))
}

// crops is how many tiles Gemini makes of an image.
func crops(w, h int) int {
	if w <= 384 && h <= 384 {
		return 1
	}
	side := min(max(min(w, h)*2/3, 256), 768)
	return ((w + side - 1) / side) * ((h + side - 1) / side)
}

// For makes v count images at the price of the model's family, wherever the
// count decides whether something fits: Total, Prefix, the upper bound of Bounds,
// and the exit gate. Without it, and for a model that is not known, they cost the
// reference price. What decides how a request is cut (Reference, and the
// notes that an image becomes) never depends on the model.
//
// It answers v. Call it before anything is counted.
func (v *View) For(model string) *View {
	p := pricingOf(model)
	if p == (pricing{scheme: tiled, base: imageBase, tile: imageTile}) {
		p = pricing{} // the reference itself
	}
	v.pricing, v.surcharges = p, nil
	return v
}

// surcharge is what the images of message i cost the family beyond the reference
// price, its first gone media parts left out. Remembered like a count.
func (v *View) surcharge(i, gone int) Tokens {
	if v.pricing.scheme == 0 || !v.marks[i].media {
		return 0
	}
	v.fact(i, knowsDigest) // fills the key
	key := v.memo.keyOf(kindPriced, v.pricing.name(v.keys[i], gone))
	if known, ok := v.memo.get(key); ok && known.knows(knowsReference) {
		return Tokens(known.reference)
	}
	var n Tokens
	r, at := v.read(i)
	m := &r.Messages[at]
	for k := range m.Parts {
		p := &m.Parts[k]
		switch {
		case !media(*p) || !p.Text.Empty() || reasoning(p):
		case gone > 0:
			gone--
		case picture(p):
			n += v.pricing.part(p, v.Decode(p.URL)) - priceOf(*p, v.Decode(p.URL)).reference
		}
	}
	v.memo.put(key, fact{reference: clamp32(n), known: knowsReference})
	return n
}

// name is what a surcharge is remembered by, beside the message.
func (p pricing) name(message memoKey, gone int) []byte {
	name := append([]byte(nil), message[:]...)
	for _, n := range [...]int{int(p.scheme), p.base, p.tile, p.unit, p.edge, p.most, p.original, p.low, p.milli, gone} {
		name = append(name, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return name
}

// part is what a picture costs. url is its decoded address.
func (p pricing) part(part *chat.Part, url string) Tokens {
	if w, h, ok := dimensions(url); ok {
		return p.image(w, h, part.Detail)
	}
	return p.unknown(part.Detail)
}

// hasMedia reports whether a message has parts that are no text.
func hasMedia(m *chat.Message) bool {
	for k := range m.Parts {
		if media(m.Parts[k]) {
			return true
		}
	}
	return false
}

// picture reports whether a media part is an image. Sounds, films and files cost
// every family the same flat price.
func picture(p *chat.Part) bool {
	switch p.Type {
	case "input_audio", "audio_url", "video_url", "input_file", "file":
		return false
	}
	return true
}

// surchargeOf is what the images among the first n messages after the head cost
// the family beyond the reference price.
func (v *View) surchargeOf(n int) Tokens {
	if v.pricing.scheme == 0 {
		return 0
	}
	if v.surcharges == nil {
		v.surcharges = make([]Tokens, v.Len()+1)
		for i := range v.Len() {
			v.surcharges[i+1] = v.surcharges[i] + v.surcharge(v.Head+i, 0)
		}
	}
	return v.surcharges[n]
}

// fixedCost is fixedTokens at the family's price of images.
func (v *View) fixedCost() Tokens {
	n := v.fixedTokens()
	for i := range v.Head {
		n += v.surcharge(i, 0)
	}
	return n
}

// clamp32 keeps a count within what a fact holds.
func clamp32(n Tokens) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }
