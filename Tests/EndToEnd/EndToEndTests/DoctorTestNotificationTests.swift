import AppStore
import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import StoreSimulator
import StoreSimulatorServer
import Testing

extension EndToEndInterfaces {
    /// `doctor --test-notification`: from Apple to the inbox and back.
    @Suite struct DoctorTestNotificationTests {
        /// The findings of the group apple, by their subject without the app.
        private func examine(_ store: AppleStore, _ installation: Installation) async throws -> [String: String] {
            var settings = store.settings
            settings["APPSTORE_INBOX_DATABASE_URL"] = installation.database.url(user: "appstore_viewer")
            let result = try await Program.run(["doctor", "--json", "--test-notification"], settings: settings, within: .seconds(150))
            #expect(result.errors.isEmpty, "\(result.errors)")
            let findings = try result.json().documents("findings").filter { $0.text("group") == "apple" }
            return Dictionary(
                findings.map { finding in
                    let subject = (finding.text("subject") ?? "").replacing("\(AppleStore.bundleID) ", with: "")
                    return (subject, "\(finding.text("status") ?? ""): \(finding.text("found") ?? ""). \(finding.text("remedy") ?? "")")
                },
                uniquingKeysWith: { "\($0)\n\($1)" }
            )
        }

        @Test func `a test is sent, arrives and is verified, in both environments`() async throws {
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                try await AppleStore.with(installation, url: "http://127.0.0.1:\(ingest.client.port)/apple/v2/notifications") { store in
                    let worker = try await installation.startWorker(store.settings)
                    let found = try await examine(store, installation)
                    for environment in ["Production", "Sandbox"] {
                        #expect(
                            found["\(environment) test"]?.hasPrefix("ok: sent by Apple with SUCCESS, and verified here") == true,
                            "\(found)"
                        )
                        #expect(found["\(environment) last hour"]?.hasPrefix("ok: ") == true, "\(found)")
                        #expect(found["\(environment) budget"]?.hasPrefix("ok: ") == true, "\(found)")
                    }
                    #expect(
                        try await installation.sql.values(
                            "SELECT notification_type FROM appstore.outcomes WHERE source = 'notification_v2'"
                        ) == ["TEST", "TEST"]
                    )
                    #expect(try await worker.terminate() == .exit(0))
                }
            }
        }

        @Test func `without a URL, and with one that does not answer, the cure is told`() async throws {
            try await Installation.lend { installation in
                try await AppleStore.with(installation) { store in
                    let found = try await examine(store, installation)
                    #expect(
                        found["Production test"]?.hasPrefix("failure: Apple knows no URL for notifications (4040007)") == true,
                        "\(found)"
                    )
                    let closed = "http://127.0.0.1:\(FreePort.find())/apple/v2/notifications"
                    store.server.access { $0.apps[0].addresses = [.production: .url(closed)] }
                    let unreachable = try await examine(store, installation)
                    #expect(unreachable["Production test"]?.hasPrefix("failure: Apple could not deliver it: ") == true, "\(unreachable)")
                    #expect(unreachable["Production test"]?.contains("doctor --url tests the way in") == true, "\(unreachable)")
                    #expect(unreachable["Sandbox test"]?.contains("4040007") == true, "\(unreachable)")
                }
            }
        }
    }
}
