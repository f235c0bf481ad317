import Postgres
import SQL

/// What the schema takes, how it grows, and what retention deletes.
extension DoctorCheck {
    @Sendable static func disk(_ context: DoctorContext) async throws -> [Finding] {
        let row = try await context.query(.doctorDisk())[0]
        let sizes = try ["inbox_bytes", "outcome_bytes", "ledger_bytes", "database_bytes"].map { try row.decode($0, as: Int64.self) }
        let (events, rate): (Int64, Double) = (try row.decode("events"), try row.decode("events_a_day"))
        let growth = events == 0 ? 0 : Double(sizes[0] + sizes[1] + sizes[2]) / Double(events) * rate
        let words = sizes.map { bytes(Double($0)) }
        return [
            .ok("size", "inbox \(words[0]), outcomes \(words[1]), ledger \(words[2]); the whole database \(words[3])"),
            .ok("growth", events == 0 ? "no events yet" : "\(Int64(rate.rounded())) events a day lately, some \(bytes(growth))"),
            try partitions(row, rate), try retention(row, growth, sizes[3]),
        ]
    }

    private static func partitions(_ row: Row, _ rate: Double) throws -> Finding {
        let (count, room): (Int64, Int64) = (try row.decode("partitions"), try row.decode("room"))
        let remedy = "start a worker, which makes them; its log says why it could not"
        guard try row.decode("is_covered") else {
            return .failure("partitions", "\(count); events go to the default one, which cannot be dropped", remedy)
        }
        let found = "\(count), with room for \(room) events"
        return Double(room) < 2 * rate ? .warning("partitions", found, remedy) : .ok("partitions", found)
    }

    private static func retention(_ row: Row, _ growth: Double, _ database: Int64) throws -> Finding {
        guard let bodies = try row.decode("bodies", as: String?.self) else {
            let found = "bodies are kept for ever, and add some \(bytes(growth)) a day with all that follows from them"
            guard database > 10_000_000_000 else { return .ok("retention", found) }
            return .warning("retention", found, "as appstore_operator, UPDATE appstore.retention SET bodies = '90 days'")
        }
        let outcomes = try row.decode("outcomes", as: String?.self) ?? "for ever"
        let aged: Int64 = try row.decode("aged_bytes")
        return .ok(
            "retention",
            "bodies \(bodies), outcomes \(outcomes); dropping the partitions that are older frees \(bytes(Double(aged))) now"
        )
    }

    private static func bytes(_ count: Double) -> String {
        for (unit, size) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] where count >= size {
            return "\((count / size * 10).rounded() / 10) \(unit)"
        }
        return "\(Int64(count)) bytes"
    }
}
