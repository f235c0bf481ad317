import EndToEndTesting
import Testing

extension EndToEnd {
    /// Notifications that Apple signed, all of Sandbox.
    @Suite(.enabled(if: AppleSamples.folder != nil, "APPSTORE_INBOX_SAMPLES does not name a folder of notifications that Apple signed"))
    struct SampleTests {
        @Test(
            arguments: [(nil, "Sandbox", nil), ("com.example.tides", "Sandbox", "wrong_bundle"), (nil, "Production", "wrong_environment")]
                as [(String?, String, String?)]
        )
        func `notifications that Apple signed are settled, those of another app or environment as rejected`(
            app: String?,
            environments: String,
            reason: String?
        ) async throws {
            let samples = try AppleSamples.notifications()
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let apps = app ?? Set(samples.map(\.bundleID)).sorted().joined(separator: ",")
                _ = try await installation.startWorker(["APPSTORE_INBOX_APPS": apps, "APPSTORE_INBOX_ENVIRONMENTS": environments])
                #expect(try await ingest.client.post(samples.map(\.body)).map(\.status) == samples.map { _ in 200 })
                for (sample, event) in zip(samples, try await installation.sql.settled(samples.count)) {
                    let results = reason == nil ? ["applied", "superseded", "no_effect"] : ["rejected"]
                    #expect(results.contains(event.outcome ?? "") && event.reason == reason, "\(sample.file): \(event)")
                    #expect(event.notificationType == sample.notificationType, "a rejected event shows its type, too")
                }
                if reason != nil { #expect(try await installation.sql.areEmpty()) }
            }
        }
    }
}
