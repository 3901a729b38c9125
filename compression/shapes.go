package compression

// shapeMost is how many lines of one shape are told.
const shapeMost = 2

// shapes counts the lines of results and documents that differ in their numbers
// alone: of a log's thousand requests a few say what they are. Shapes are known by
// a hash; two that share one cost a line.
type shapes map[uint64]int

// FNV-1a.
const (
	shapeBasis = 14695981039346656037
	shapePrime = 1099511628211
)

// common reports whether enough lines of the shape of text came already, and
// counts it. Words that hold a digit are one sign of a shape.
func (s shapes) common(text string) bool {
	hash := uint64(shapeBasis)
	for i := 0; i < len(text); {
		if !letterOrDigit(text[i]) {
			hash = (hash ^ uint64(text[i])) * shapePrime
			i++
			continue
		}
		before, digits := hash, false
		for ; i < len(text) && letterOrDigit(text[i]); i++ {
			digits = digits || text[i] <= '9'
			hash = (hash ^ uint64(text[i])) * shapePrime
		}
		if digits {
			hash = (before ^ '0') * shapePrime
		}
	}
	s[hash]++
	return s[hash] > shapeMost
}

// alike is the same for names that differ in their digits alone.
func alike(name string) uint64 {
	hash := uint64(shapeBasis)
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= '0' && c <= '9' {
			if i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
				continue
			}
			c = '0'
		}
		hash = (hash ^ uint64(c)) * shapePrime
	}
	return hash
}
