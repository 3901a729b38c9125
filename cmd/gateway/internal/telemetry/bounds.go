package telemetry

func waitBounds() []float64 {
	return []float64{0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 60}
}

func addedBounds() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}
}

// shareBounds are finest around the triggers that are worth trying.
func shareBounds() []float64 {
	return []float64{0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1, 1.25, 1.5, 2, 4}
}

func durationBounds() []float64 {
	return []float64{0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200}
}

// httpBounds go on where the conventions' end, at 10 s: an answer of a model takes
// minutes.
func httpBounds() []float64 {
	return []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
}

// genAIBounds are the conventions' and three more.
func genAIBounds() []float64 {
	return []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36}
}
