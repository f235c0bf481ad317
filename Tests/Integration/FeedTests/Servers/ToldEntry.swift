import InboxTesting
import Postgres
import PostgresTesting

/// An entry as a reader outside the database keeps it.
struct ToldEntry: Hashable {
    let position: Int
    let id: String
    /// What the entry says, without what depends on when it was told.
    let content: String

    /// The whole feed, in order.
    static func all(in database: TestDatabase) async throws -> [ToldEntry] {
        let lines = try await database.lines(
            """
            SELECT concat_ws('|', position, id, type, environment, subject, user_id, from_user_id, data ->> 'effect_subject',
                             data ->> 'entitlement', data ->> 'active', data ->> 'until', data ->> 'why', data ->> 'order_no', data ->> 'status')
            FROM appstore.feed ORDER BY position
            """
        )
        return lines.map { line in
            let parts = line.split(separator: "|", maxSplits: 2)
            return ToldEntry(position: Int(parts[0]) ?? 0, id: String(parts[1]), content: String(parts[2]))
        }
    }

    var isEffect: Bool { content.hasPrefix("effect.") }
}

extension Sequence<ToldEntry> {
    /// The ids that stand for different contents.
    var ambiguousIDs: [String] {
        Dictionary(grouping: self, by: \.id).filter { Set($0.value.map(\.content)).count > 1 }.map(\.key)
    }
}
