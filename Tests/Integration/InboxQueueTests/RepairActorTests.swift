import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// In whose name the steps of a repair are taken, and until when.
struct RepairActorTests {
    /// How a login loses the right to repair.
    enum Loss: String, CaseIterable {
        case revoked = "REVOKE appstore_operator FROM login"
        case dropped = "DROP ROLE login"
        case expired = "ALTER ROLE login VALID UNTIL '2020-01-01'"
        /// Another login gets the name.
        case replaced = "DROP ROLE login; CREATE ROLE login LOGIN IN ROLE appstore_operator"
    }

    @Test(arguments: Loss.allCases)
    func `the repair of a login ends when that is no operator any more`(loss: Loss) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(1500, result: "failed", in: database)
        let login = "repairer_\(UUID().uuidString.prefix(8).lowercased())"
        try await MaintenanceBench.execute("CREATE ROLE \(login) LOGIN IN ROLE appstore_operator", in: database)
        try await RepairBench.begin(as: login, in: database)
        #expect(try await RepairBench.step(in: database).repaired == 1000)
        try await MaintenanceBench.execute(loss.rawValue.replacing("login", with: login), in: database)
        let step = try await RepairBench.step(in: database)
        #expect((step.state, step.repaired, step.error) == ("stopped", 1000, "\(login) is no operator now"))
        #expect(try await database.lines("SELECT DISTINCT actor FROM appstore.audit_log") == [login])
        try await MaintenanceBench.execute("DROP ROLE IF EXISTS \(login)", in: database)
    }

    @Test func `the repair of a person whom the console names is audited as that person's`() async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3, result: "failed", in: database)
        try await discard(as: "a person of the proxy", isLogin: false, in: database)
        #expect(try await RepairBench.finish(in: database) == [3])
        #expect(
            try await database.lines("SELECT concat_ws('|', actor, action, note) FROM appstore.audit_log")
                == ["a person of the proxy|discard|junk"]
        )
        #expect(try await database.lines("SELECT DISTINCT replaced_by FROM appstore.outcome_history") == ["a person of the proxy"])
    }

    /// Only logins of the console are logins of the database, and lose their right with it.
    @Test(arguments: [(true, "stopped|0"), (false, "done|3")])
    func `the repair of a person whom the proxy of the console names goes on, whatever a login of that name may do`(
        isLogin: Bool,
        end: String
    ) async throws {
        let database = try await InboxDatabase.make()
        try await MaintenanceBench.settled(3, result: "failed", in: database)
        // No operator.
        try await discard(as: "appstore_viewer", isLogin: isLogin, in: database)
        _ = try await RepairBench.finish(in: database)
        #expect(try await database.lines("SELECT concat_ws('|', state, repaired) FROM appstore.repair_status") == [end])
    }

    /// Discards all that failed as the console does it.
    private func discard(as person: String, isLogin: Bool, in database: TestDatabase) async throws {
        try await database.withConnection(user: "appstore_console") { console in
            try await console.withTransaction { transaction in
                _ = try await transaction.pipeline([
                    "SELECT set_config('appstore.actor', \(person), true)",
                    "SELECT set_config('appstore.actor_is_login', \(isLogin ? "true" : "false"), true)",
                    "SELECT set_config('role', 'appstore_operator', true)",
                    "SELECT appstore.discard(result => 'failed', note => 'junk')::text",
                ])
            }
        }
    }
}
