/// Watches a request until it is over.
struct RepairFollower {
    let desk: RepairDesk
    let report: RepairReport

    /// Reports each change, on a terminal as it happens, else every ten seconds and at the end.
    func follow(_ repair: Int) async throws -> RepairProgress {
        let clock = ContinuousClock()
        let start = clock.now
        var reported: RepairProgress?
        var quietUntil = start
        while true {
            guard let progress = try await desk.progress(of: repair) else {
                throw RepairDesk.Refusal(reason: "request \(repair) has gone")
            }
            if progress.isOver || (progress != reported && clock.now >= quietUntil) {
                report.progress(progress, after: clock.now - start)
                reported = progress
                quietUntil = clock.now + (report.isTerminal ? .zero : .seconds(10))
            }
            if progress.isOver { return progress }
            try await Task.sleep(for: .milliseconds(250))
        }
    }
}
