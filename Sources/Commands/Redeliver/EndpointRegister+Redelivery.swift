import Postgres
import SQL

extension EndpointRegister {
    /// The entries that are delivered again; nil for no bound.
    struct Range: Sendable {
        let first: Int64?
        let last: Int64?
        /// Instants.
        let from: String?
        let before: String?
        let types: [String]?
        /// Those that failed or were given up.
        let onlyFailed: Bool
    }

    /// Asks workers to deliver entries again; in a dry run only counts them.
    ///
    /// - Returns: how many, and the number of the redelivery; nil for failed ones, which are due at once.
    func redeliver(_ name: String, _ range: Range, note: String?, isDry: Bool) async throws -> (entries: Int64, redelivery: Int64?) {
        let row = try await connection.query(
            Statement(
                .endpointRedeliver,
                [
                    "name": name, "from_position": range.first, "upto_position": range.last, "since": range.from, "before": range.before,
                    "types": range.types, "only_failed": range.onlyFailed, "dry_run": isDry, "note": note,
                ]
            )
        )[0]
        let entries: Int64 = try row.decode(0)
        guard !isDry, !range.onlyFailed, entries > 0 else { return (entries, nil) }
        let newest = try await connection.query(Statement(.endpointRedeliveries, ["name": name, "id": Int64?.none])).first
        return (entries, try newest?.decode("redelivery_id"))
    }

    /// A redelivery by its number; nil where its endpoint was removed.
    func redelivery(_ number: Int64) async throws -> Redelivery? {
        try await connection.query(Statement(.endpointRedeliveries, ["name": String?.none, "id": number])).first.map(Redelivery.init)
    }
}
