import Foundation
import InboxTesting
import Ledger
import Postgres
import PostgresTesting
import Testing

/// A rule of the books that is broken on purpose.
struct Mutation: Sendable, CustomTestStringConvertible {
    /// How a database is made to break the rule.
    enum Way: Sendable {
        /// A function's text says something else.
        case function(String, says: String, insteadOf: String)
        /// A trigger spoils each row of the transactions' register as it is written again.
        case trigger(String)
        /// The same of another table, which is named first: each row as it is inserted.
        case insertion(String, String)
        /// What an event says is spoilt before it is merged.
        case facts(@Sendable (inout EventFacts) -> Void)
        /// Receipts count as genuine that are not.
        case belief
    }

    /// The rule as it should be.
    let rule: String
    let way: Way

    var testDescription: String { rule }

    /// The function has no such text (any more): the mutation must be written anew.
    struct NothingToBreak: Error {
        let function: String
        let text: String
    }

    func apply(to database: TestDatabase) async throws {
        try await database.withConnection { connection in
            switch way {
            case .function(let name, let wrong, let right):
                let rows = try await connection.query(
                    """
                    SELECT pg_get_functiondef(p.oid) FROM pg_catalog.pg_proc AS p
                    WHERE p.pronamespace = 'appstore'::regnamespace AND p.proname = \(name)
                    """
                )
                let definition = try #require(rows.first).decode(0, as: String.self)
                guard definition.contains(right) else { throw NothingToBreak(function: name, text: right) }
                try await connection.runScript(definition.replacingOccurrences(of: right, with: wrong))
            case .trigger(let body):
                try await connection.runScript(
                    """
                    CREATE FUNCTION public.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body); RETURN new; END $$;
                    CREATE TRIGGER spoil BEFORE UPDATE ON appstore.transactions FOR EACH ROW EXECUTE FUNCTION public.spoil();
                    """
                )
            case .insertion(let table, let body):
                try await connection.runScript(
                    """
                    CREATE FUNCTION public.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(body); RETURN new; END $$;
                    CREATE TRIGGER spoil BEFORE INSERT ON appstore.\(table) FOR EACH ROW EXECUTE FUNCTION public.spoil();
                    """
                )
            case .facts, .belief: break
            }
        }
    }

    var believesReceipts: Bool {
        guard case .belief = way else { return false }
        return true
    }

    /// What an event says where the rule is broken.
    func spoil(_ step: BookHall.Step) -> BookHall.Step {
        guard case .facts(let spoil) = way, case .event(var facts) = step else { return step }
        spoil(&facts)
        return .event(facts)
    }
}
