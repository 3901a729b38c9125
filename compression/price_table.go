package compression

// priceRow gives the models of some names, and of every name that goes on from
// one behind a hyphen, their pricing; the longest name wins. Names are in lower
// case, with hyphens for dots.
type priceRow struct {
	names string
	pricing
}

// priceTable is what the makers publish, as of September 2026. Sources:
//
//   - OpenAI, "Images and vision" (platform.openai.com/docs/guides/images-vision,
//     calculating costs): base and tile prices, patches of 32 pixels, 1536 of them
//     and their factors; the sizing behaviour of GPT-5.4 and later (2500 patches,
//     10,000 with detail "original"). From GPT-5 on the factors are those that
//     usage shows, which for the small models are less than what is published.
//   - Anthropic, "Vision" (platform.claude.com/docs/en/build-with-claude/vision):
//     1568 pixels and about 1600 tokens; from Claude 4.7 on 2576 pixels and 4784
//     tokens. A token stands for 28 by 28 pixels, which usage shows to be more
//     exact than the published area divided by 750 and lies within 5 % of it.
//   - Google, "Understand and count tokens" and "Media resolution"
//     (ai.google.dev/gemini-api/docs): 258 tokens a tile; 1120 an image from 3 on.
//   - Alibaba Cloud, "Visual understanding" (docs.qwencloud.com), and SiliconFlow,
//     "Vision": patches of 28 or 32 pixels, at most 16,384.
//   - Together, "Vision" (docs.together.ai): Llama 3.2, 1601 tokens a tile, which
//     are at most four.
//
// Where a source gives a range the dearer end stands: one too dear folds a little
// early, one too cheap is refused. A model that is not here costs the reference
// price, which is GPT-4o's. Read only.
var priceTable = [...]priceRow{
	{"gpt-4o gpt-4-1 gpt-4-5 gpt-4-turbo chatgpt-4o", openAITiles(85, 170)},
	{"gpt-4o-mini", openAITiles(2833, 5667)},
	{"o1 o3", openAITiles(75, 150)},
	{"gpt-5 gpt-5-1", openAITiles(70, 140)},
	{"computer-use-preview", openAITiles(65, 129)},
	{"gpt-4-1-mini", openAIPatches(1620)},
	{"gpt-4-1-nano", openAIPatches(2460)},
	{"gpt-5-mini", openAIPatches(1200)},
	{"gpt-5-nano", openAIPatches(1500)},
	{"o4-mini", openAIPatches(1720)},
	{"gpt-5-2 gpt-5-3", openAIPatches(1200)},
	{"gpt-5-4 gpt-5-5 gpt-5-6 gpt-6", pricing{scheme: patched, unit: 32, most: 2500, original: 10_000, low: 256, milli: 1200}},

	{"claude claude-opus-4-7 claude-opus-4-8 claude-opus-4-9 claude-sonnet-4-7 claude-sonnet-4-8 claude-sonnet-4-9 claude-haiku-4-7 claude-haiku-4-8 claude-haiku-4-9", pricing{scheme: patched, unit: 28, edge: 2576, most: 4784, milli: 1000}},
	{"claude-2 claude-3 claude-4 claude-opus-4 claude-sonnet-4 claude-haiku-4", pricing{scheme: patched, unit: 28, edge: 1568, most: 1568, milli: 1000}},

	{"gemini", pricing{scheme: flat, tile: 1120}},
	{"gemini-1 gemini-2", pricing{scheme: cropped, tile: 258}},

	{"qwen-vl qwen2-vl qwen2-5-vl qvq", pricing{scheme: patched, unit: 28, most: 16_384, milli: 1000}},
	{"qwen3-vl qwen3-5 qwen3-6", pricing{scheme: patched, unit: 32, most: 16_384, milli: 1000}},

	{"llama-3-2-11b-vision llama-3-2-90b-vision", pricing{scheme: flat, tile: 4 * 1601}},
}

func openAITiles(base, tile int) pricing { return pricing{scheme: tiled, base: base, tile: tile} }

func openAIPatches(milli int) pricing {
	return pricing{scheme: patched, unit: 32, most: 1536, low: 256, milli: milli}
}
