import EndToEndTesting
import Foundation
import Postgres
import Testing

extension EndToEnd {
    /// Notifications that Apple signed.
    @Suite(.enabled(if: AppleSamples.folder != nil, "APPSTORE_INBOX_SAMPLES does not name a folder of notifications that Apple signed"))
    struct SampleTests {
        @Test func `notifications that Apple signed are settled`() async throws {
            let samples = try AppleSamples.notifications()
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let apps = Set(samples.map(\.bundleID)).sorted().joined(separator: ",")
                let worker = try await installation.startWorker(["APPSTORE_INBOX_APPS": apps, "APPSTORE_INBOX_ENVIRONMENTS": "Sandbox"])
                #expect(try await ingest.client.post(samples.map(\.body)).map(\.status) == samples.map { _ in 200 })
                for (sample, event) in zip(samples, try await installation.books.settled(samples.count)) {
                    #expect(["applied", "superseded", "no_effect"].contains(event.outcome), "\(sample.file): \(event)")
                    #expect(event.notificationType == sample.notificationType)
                }
                #expect(try await worker.terminate() == .exit(0))
            }
        }

        @Test func `notifications of an app that is not configured are rejected`() async throws {
            let samples = try AppleSamples.notifications()
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                _ = try await installation.startWorker(["APPSTORE_INBOX_APPS": "com.example.tides"])
                _ = try await ingest.client.post(samples.map(\.body))
                for (sample, event) in zip(samples, try await installation.books.settled(samples.count)) {
                    #expect((event.outcome, event.reason) == ("rejected", "wrong_bundle"), "\(sample.file): \(event)")
                    #expect(event.notificationType == sample.notificationType, "a rejected event must show its type")
                }
                #expect(try await installation.books.areEmpty())
            }
        }

        @Test func `notifications of an environment that is not configured are rejected`() async throws {
            let samples = try AppleSamples.notifications()
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                let apps = Set(samples.map(\.bundleID)).sorted().joined(separator: ",")
                _ = try await installation.startWorker(["APPSTORE_INBOX_APPS": apps, "APPSTORE_INBOX_ENVIRONMENTS": "Production"])
                _ = try await ingest.client.post(samples.map(\.body))
                for event in try await installation.books.settled(samples.count) {
                    #expect((event.outcome, event.reason) == ("rejected", "wrong_environment"), "\(event)")
                }
                #expect(try await installation.books.areEmpty())
            }
        }
    }
}
