import Postgres
import SQL

extension EndpointRegister {
    /// The entries that are delivered again; nil for no bound.
    struct Range: Sendable {
        let first: Int64?
        let last: Int64?
        let from: PostgresTimestamp?
        let before: PostgresTimestamp?
        let types: [String]?
        /// Those that failed or were given up.
        let onlyFailed: Bool
    }

    /// Asks workers to deliver entries again; in a dry run only counts them.
    ///
    /// - Returns: how many, and the number of the redelivery; nil for failed ones, which are due at once.
    func redeliver(_ name: String, _ range: Range, note: String?, isDry: Bool) async throws -> (entries: Int64, redelivery: Int64?) {
        let row = try await connection.query(
            .redeliver(
                endpoint: name,
                fromPosition: range.first,
                uptoPosition: range.last,
                since: range.from,
                before: range.before,
                types: range.types,
                onlyFailed: range.onlyFailed,
                dryRun: isDry,
                note: note
            )
        )[0]
        let entries: Int64 = try row.decode(0)
        guard !isDry, !range.onlyFailed, entries > 0 else { return (entries, nil) }
        let newest = try await connection.query(.endpointRedeliveries(name: name, id: nil)).first
        return (entries, try newest?.decode("redelivery_id"))
    }

    /// A redelivery by its number; nil where its endpoint was removed.
    func redelivery(_ number: Int64) async throws -> Redelivery? {
        try await connection.query(.endpointRedeliveries(name: nil, id: number)).first.map(Redelivery.init)
    }
}
