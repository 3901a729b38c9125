package admin

import "fmt"

// Lately tells the steps of a record: how many requests, tokens before and after.
func Lately(r *Record, limit int) (told lately) {
	for _, s := range r.lately(limit) {
		told = append(told, [3]int64{int64(s.Requests), s.Before, s.After})
	}
	return told
}

type lately [][3]int64

func (l lately) String() (text string) {
	for i, s := range l {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprint(s)
	}
	return text
}
