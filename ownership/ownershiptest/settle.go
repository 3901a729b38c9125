package ownershiptest

import "github.com/foldgate/foldgate/ownership"

func settleCases() []testCase {
	return []testCase{
		{"it marks the checkpoint", 0, settleMarks},
		{"its repeat says already, also after the next claim", 0, settleAlready},
		{"not before the commit", 0, settleWorking},
		{"not after restore", 0, settleRestored},
		{"not once a newer claim closed it", 0, settleClosed},
		{"not after a wipe", wipe, settleLost},
	}
}

func settleMarks(x *fixture) {
	f := x.committed(x.A, target(1))
	x.settle(x.B, f, ownership.DoneNow)
	v := x.read(x.A)
	if !v.State.Checkpoints[0].Settled || v.Owner.Phase != ownership.Settled {
		x.Fatalf("after settle: %s", show(v))
	}
}

func settleAlready(x *fixture) {
	f := x.committed(x.A, target(1))
	x.settle(x.A, f, ownership.DoneNow)
	x.unchanged("the repeat", func() { x.settle(x.B, f, ownership.DoneAlready) })
	x.begin(x.A, claimOf(target(2)))
	x.unchanged("a late repeat", func() { x.settle(x.B, f, ownership.DoneAlready) })
}

func settleWorking(x *fixture) {
	f := x.begin(x.A, claimOf(target(1)))
	_, err := x.A.Settle(x.Context(), x.key, f)
	x.ended(err, ownership.Working, "settle")
}

func settleRestored(x *fixture) {
	f := x.committed(x.A, target(1))
	x.restore(x.A, f, nil, ownership.DoneNow)
	x.unchanged("settle after restore", func() {
		_, err := x.B.Settle(x.Context(), x.key, f)
		x.ended(err, ownership.Restored, "settle")
	})
}

func settleClosed(x *fixture) {
	f := x.committed(x.A, target(1))
	x.begin(x.B, claimOf(target(2)))
	x.unchanged("settle of what is closed", func() {
		_, err := x.A.Settle(x.Context(), x.key, f)
		x.is(err, ownership.ErrSuperseded, "settle")
	})
	x.stand(f)
}

func settleLost(x *fixture) {
	f := x.committed(x.A, target(1))
	x.Wipe(x.T)
	_, err := x.A.Settle(x.Context(), x.key, f)
	x.is(err, ownership.ErrLost, "settle")
}
