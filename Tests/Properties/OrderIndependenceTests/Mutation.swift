import Foundation
import InboxTesting
import Ledger
import Postgres
import PostgresTesting
import SQL
import Testing

/// A rule of the ledger that is broken on purpose.
struct Mutation: Sendable, CustomTestStringConvertible {
    /// The change that breaks the rule.
    enum Change: Sendable {
        /// Replaces text in an SQL function.
        case function(String, String, becomes: String)
        /// Replaces text in the file of a view.
        case view(String, String, becomes: String)
        /// A trigger that changes each updated row of the transactions' register.
        case trigger(String)
        /// A trigger that changes each row inserted into the named table.
        case insertion(String, String)
        /// Changes the facts of an event before the merge.
        case facts(@Sendable (inout EventFacts) -> Void)
        /// Forged receipts count as genuine.
        case forgedReceipts
    }

    /// The rule as it should be.
    let rule: String
    let change: Change
    /// Histories of the fixed seed that decide the rule, where the first 3,000 do not. A change of the generator may need others.
    let histories: [Int]

    init(_ rule: String, _ change: Change, decidedBy histories: [Int] = []) {
        (self.rule, self.change, self.histories) = (rule, change, histories)
    }

    var testDescription: String { rule }

    /// The function or view does not contain the text: the mutation must be updated.
    struct TextNotFound: Error {
        let name: String
        let text: String
    }

    func apply(to database: TestDatabase) async throws {
        try await database.withConnection { connection in
            switch change {
            case .function(let name, let right, let wrong):
                let rows = try await connection.query(
                    """
                    SELECT pg_get_functiondef(p.oid) FROM pg_catalog.pg_proc AS p
                    WHERE p.pronamespace = 'appstore'::regnamespace AND p.proname = \(name)
                    """
                )
                let definition = try #require(rows.first).decode(0, as: String.self)
                guard definition.contains(right) else { throw TextNotFound(name: name, text: right) }
                try await connection.runScript(definition.replacingOccurrences(of: right, with: wrong))
            case .view(let name, let right, let wrong):
                let file = try #require(SchemaManifest().views.first { $0.name == "views/" + name })
                guard file.text.contains(right) else { throw TextNotFound(name: name, text: right) }
                try await connection.runScript(file.text.replacingOccurrences(of: right, with: wrong))
            case .trigger(let body): try await addTrigger("BEFORE UPDATE ON appstore.transactions", body, connection)
            case .insertion(let table, let body): try await addTrigger("BEFORE INSERT ON appstore.\(table)", body, connection)
            case .facts, .forgedReceipts: break
            }
        }
    }

    private func addTrigger(_ event: String, _ body: String, _ connection: Connection) async throws {
        try await connection.runScript(
            """
            CREATE FUNCTION public.corrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body); RETURN new; END $$;
            CREATE TRIGGER corrupt \(event) FOR EACH ROW EXECUTE FUNCTION public.corrupt();
            """
        )
    }

    var acceptsForgedReceipts: Bool {
        guard case .forgedReceipts = change else { return false }
        return true
    }

    /// The step with the facts of the broken rule.
    func corrupt(_ step: LedgerFixture.Step) -> LedgerFixture.Step {
        guard case .facts(let corrupt) = change, case .event(var facts) = step else { return step }
        corrupt(&facts)
        return .event(facts)
    }
}
