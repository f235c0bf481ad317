package import Postgres
import SQL

/// What a step of the sequencer did.
package struct FeedStep: Sendable, Hashable {
    /// Whether the feed is on.
    package let isOn: Bool
    /// How many entries got a position. 0 also while another session takes a step.
    package let told: Int
    /// Whether more was committed than a step takes.
    package let hasMore: Bool

    /// How many changes a step takes at most.
    package static let most = 2000

    /// Takes a step, in a transaction of its own.
    package static func take(upTo most: Int = most, on connection: Connection) async throws -> FeedStep {
        let rows = try await connection.query(.sequenceFeed(maxTells: Int32(most)))
        guard let row = rows.first else { return FeedStep(isOn: false, told: 0, hasMore: false) }
        return FeedStep(
            isOn: try row.decode("is_on"),
            told: Int(try row.decode("told", as: Int64.self)),
            hasMore: try row.decode("has_more")
        )
    }
}
