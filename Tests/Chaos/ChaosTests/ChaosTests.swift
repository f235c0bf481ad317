import Testing

/// The built program under injected faults: `CHAOS_EVENTS=1000000 swift test --filter ChaosTests` by hand, one minute in CI.
@Suite(.serialized) struct ChaosTests {
    @Test func `under faults no event is lost, none is counted twice, and none stalls`() async throws {
        let settings = ChaosSettings()
        print("chaos: CHAOS_SEED=\(settings.seed) CHAOS_EVENTS=\(settings.events)")
        let report = try await ChaosRun.report(settings)
        print(report)
        let violations = report.violations.prefix(40).map { "\($0)" }.joined(separator: "\n")
        #expect(report.violations.isEmpty, "\(report.rerunCommand)\n\(violations)")
        #expect(report.daemonFailures.isEmpty, "\(report.rerunCommand)\n\(report.daemonFailures.joined(separator: "\n"))")
        #expect(report.missingFaults.isEmpty, "these faults did not happen: the run has not tested them")
        #expect(report.sums.statuses[503, default: 0] > 0, "no post was answered with 503")
        #expect(report.sums.accepted >= settings.events)
        // No other status: 400 is for bodies that are no notification.
        #expect(Set(report.sums.statuses.keys).isSubset(of: [200, 400, 503]), "\(report.sums.statuses)")
    }
}
