package compression

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // so that DecodeConfig reads its dimensions
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"strings"

	_ "golang.org/x/image/webp" // likewise

	"github.com/foldgate/foldgate/compression/chat"
)

// The reference price of a part that is no text, in tokens: the same for every
// model, since it decides how a request is cut. Images follow OpenAI's published
// tile formula at the price of GPT-4o: a base, and a price for each 512-pixel
// tile after fitting into 2048 by 2048 and then the shorter side into 768. What
// other families pay for them is in prices.go. A sound, a film and a file cost a
// flat price, since their length is in no field of the request.
const (
	imageBase = 85
	imageTile = 170
	imageFlat = 1500 // dimensions unknown (an address), and sounds, films and files
	imageMost = imageBase + imageTile*8
	mediaLow  = 1 // the least that a part which is no text can cost
)

// imageHeader bounds how much of a data URI is decoded to find the dimensions.
// They stand in the first bytes, except behind the large metadata of some JPEGs.
const imageHeader = 96 << 10

// price is what a part that is no text costs by the reference count, and the
// bounds between which any upstream's own price is taken to lie.
type price struct{ reference, low, high Tokens }

// media reports whether the part is a picture, a sound or a file, which has a
// price of its own whatever the length of its base64.
func media(p chat.Part) bool {
	switch p.Type {
	case "image_url", "input_image", "image", "input_audio", "audio_url", "video_url", "input_file", "file":
		return true
	}
	return !p.URL.Empty()
}

// priceOf prices a media part. url is the decoded address, empty if there is none.
func priceOf(p chat.Part, url string) price {
	if p.URL.Empty() {
		return price{imageFlat, mediaLow, imageFlat}
	}
	if p.Detail == "low" {
		return price{imageBase, mediaLow, imageBase}
	}
	w, h, ok := dimensions(url)
	if !ok {
		return price{imageFlat, mediaLow, imageFlat}
	}
	return price{Tokens(min(imageMost, imageBase+imageTile*tiles(w, h))), mediaLow, imageFlat}
}

// tiles is how many tiles of 512 pixels an image of w by h pixels makes.
func tiles(w, h int) int {
	fw, fh := float64(w), float64(h)
	if s := 2048 / max(fw, fh); s < 1 {
		fw, fh = fw*s, fh*s
	}
	if s := 768 / min(fw, fh); s < 1 {
		fw, fh = fw*s, fh*s
	}
	across, down := (int(fw)+511)/512, (int(fh)+511)/512
	return max(1, across) * max(1, down)
}

// dimensions reads width and height out of a base64 data URI.
func dimensions(url string) (w, h int, ok bool) {
	_, data, found := strings.Cut(url, ";base64,")
	if !found || !strings.HasPrefix(url, "data:") {
		return 0, 0, false
	}
	if n := base64.StdEncoding.EncodedLen(imageHeader); len(data) > n {
		data = data[:n]
	}
	raw := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(raw, []byte(data))
	if err != nil && n == 0 {
		return 0, 0, false
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(raw[:n]))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return 0, 0, false
	}
	return c.Width, c.Height, true
}

// mediaName says in a few words what a part was, for the note that replaces it.
func mediaName(p chat.Part, url string) string {
	kind := "image"
	switch p.Type {
	case "input_audio", "audio_url":
		kind = "audio"
	case "video_url":
		kind = "video"
	case "file", "input_file":
		kind = "file"
	}
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		mime, _, _ := strings.Cut(rest, ";")
		if len(mime) > 0 && len(mime) <= 64 && !strings.ContainsAny(mime, ",\n") {
			return kind + " (" + mime + ")"
		}
		return kind
	}
	if len(url) > 0 && len(url) <= 200 {
		return kind + " " + url
	}
	return kind
}
