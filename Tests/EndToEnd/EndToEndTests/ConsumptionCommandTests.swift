import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// `appstore-inbox consumption`.
    @Suite struct ConsumptionCommandTests {
        private func consumption(
            _ arguments: [String],
            in installation: Installation,
            as role: String = "appstore_operator"
        ) async throws -> Program.Result {
            try await Program.run(
                ["consumption"] + arguments,
                settings: ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: role)]
            )
        }

        private static let request = """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
            VALUES ('Production', '1000', '1000', 'com.example.app', 'coins', 'Consumable', now(), now(), '\\x01', now(), gen_random_uuid(), false);
            INSERT INTO appstore.refund_requests
                (environment, notification_uuid, kind, transaction_id, original_transaction_id, signed_date)
            VALUES ('Production', gen_random_uuid(), 'asked', '1000', '1000', now() - interval '1 hour');
            SELECT appstore.derive_refund_requests('Production', '{1000}');
            INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('com.example.app', 'backend');
            """

        @Test func `requests are listed and decided, and a broken rule is named`() async throws {
            try await Installation.lend { installation in
                let none = try await consumption(["list"], in: installation)
                #expect((none.ending, none.output) == (.exit(0), "Apple waits for no answer.\n"))
                let connection = try await Connection.open(ConnectionOptions(installation.database.url()), logger: .silent)
                try await connection.runScript(Self.request)
                await connection.close()
                let list = try await consumption(["list", "--state", "waiting"], in: installation)
                #expect(list.ending == .exit(0) && list.output.contains("1000") && list.output.contains("waiting"), "\(list)")
                let answer = ["answer", "1000", "--consented", "--delivery", "DELIVERED", "--no-sample", "--json"]
                let refused = try await consumption(answer, in: installation)
                #expect(refused.ending == .exit(1) && refused.errors.contains("4000035"), "\(refused)")
                let decided = try await consumption(answer + ["--evidence", "terms 7", "--preference", "DECLINE"], in: installation)
                #expect(decided.ending == .exit(0), "\(decided)")
                let json = try decided.json()
                #expect(
                    (json.text("state"), json.text("preference"), json.text("decidedBy")) == ("decided", "DECLINE", "appstore_operator")
                )
                let unknown = try await consumption(["answer", "1001", "--no-consented"], in: installation)
                #expect(unknown.ending == .exit(1) && unknown.errors.contains("Apple has not asked"), "\(unknown)")
                let viewer = try await consumption(["list"], in: installation, as: "appstore_viewer")
                #expect(viewer.ending == .exit(1), "\(viewer)")
            }
        }
    }
}
