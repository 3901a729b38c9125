package refusal

// Kind is what an upstream's refusal was about.
type Kind uint8

// The kinds.
const (
	// None: no refusal, or one that has nothing to do with size or structure.
	None Kind = iota
	// Overflow: the request is too large, and less input can cure it.
	Overflow
	// OutputCap: the output that was asked for is too large by itself.
	OutputCap
	// Structure: the order or the form of the messages was refused.
	Structure
	// TooLarge: the body has too many bytes, whatever it holds in tokens.
	TooLarge
)

// String names the kind as logs and metrics do.
func (k Kind) String() string {
	switch k {
	case Overflow:
		return "overflow"
	case OutputCap:
		return "output-cap"
	case Structure:
		return "structure"
	case TooLarge:
		return "too-large"
	default:
		return "none"
	}
}

// Refusal is what an upstream's answer means. The zero Refusal means nothing.
type Refusal struct {
	Kind Kind
	// Limit is what the upstream called its limit, in tokens; 0 if it named none
	// or none that is plausible. It is the whole window unless InputLimit is set.
	Limit int
	// Actual is the size of the input, tools included, as the upstream counted
	// it, in tokens; 0 if it named none, or only an estimate.
	Actual int
	// Output is what the upstream set aside for the answer, in tokens; 0 if it
	// named nothing.
	Output int
	// LowerBound: Actual is the least that the input can have. There is nothing
	// to calibrate with.
	LowerBound bool
	// InputLimit: Limit is for the input alone.
	InputLimit bool
	// Bytes is the longest body that the upstream takes, in bytes, of a TooLarge;
	// 0 if it named none, or none that is plausible. A unit of thousands is read
	// as such (1 MB is 1,000,000 bytes): the smaller of its two meanings.
	Bytes int64
}

// Classify reads the body of a response. With a status of 400 and more the
// whole body is the error; with a status of 2xx only an error object in it
// counts. Of the body, the first 64 KiB are looked at.
func Classify(status int, body []byte) Refusal {
	switch {
	case status >= 200 && status < 300:
		return InStream(body)
	case status < 400 || mute(status):
		return Refusal{}
	}
	return open(body, anyShape).judge(status)
}

// InStream reads the data of one event of a stream that began with 200, or a
// whole body of that status. It is cheap where there is no error. An event that
// is named error may have data of another form: that is for Classify, with 400.
func InStream(data []byte) Refusal {
	if ranOut(data) {
		return Refusal{Kind: Overflow}
	}
	if !maybeError(data) {
		return Refusal{}
	}
	if r := open(data, errorObject); r.isError() {
		return r.judge(200)
	}
	return Refusal{}
}

// ErrorObject reports whether data, one event's data or a whole body that came
// with a status of 2xx, holds an error object, and the HTTP status that the
// object names, 0 if none.
func ErrorObject(data []byte) (status int, ok bool) {
	if !maybeError(data) {
		return 0, false
	}
	r := open(data, errorObject)
	if !r.isError() {
		return 0, false
	}
	return r.status, true
}

// mute tells the statuses that say by themselves that it was not about size or
// structure. Their texts may quote the request.
func mute(status int) bool {
	switch status {
	case 401, 402, 403, 404, 405, 407, 408, 429:
		return true
	}
	return false
}
