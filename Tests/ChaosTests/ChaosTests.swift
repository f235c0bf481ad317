import Testing

/// The built program under fire: `CHAOS_EVENTS=1000000 swift test --filter ChaosTests` by hand, a minute of it in CI.
@Suite(.serialized) struct ChaosTests {
    @Test func `under fire nothing is lost, nothing is doubled, and nothing stalls`() async throws {
        let settings = ChaosSettings()
        print("chaos: CHAOS_SEED=\(settings.seed) CHAOS_EVENTS=\(settings.events)")
        let report = try await ChaosRun.report(settings)
        print(report)
        let violations = report.violations.prefix(40).map { "\($0)" }.joined(separator: "\n")
        #expect(report.violations.isEmpty, "\(report.again)\n\(violations)")
        #expect(report.complaints.isEmpty, "\(report.again)\n\(report.complaints.joined(separator: "\n"))")
        #expect(report.missingFaults.isEmpty, "these faults did not happen, so that the run has not tested them")
        #expect(report.sums.statuses[503, default: 0] > 0, "not one post was answered with 503")
        #expect(report.sums.accepted >= settings.events)
        // Not a word to senders but these: 400 is for what is no notification.
        #expect(Set(report.sums.statuses.keys).isSubset(of: [200, 400, 503]), "\(report.sums.statuses)")
    }
}
