import Postgres

/// The endpoints that are not well.
struct EndpointTroubles {
    struct Trouble {
        let name: String
        let state: String
        let why: String?
        let breaker: String
        let failingSince: PostgresTimestamp?
        let givenUp: Int64
        let lastError: String?
    }

    /// How many endpoints there are.
    let all: Int64
    let troubles: [Trouble]

    init(_ rows: Rows) throws {
        all = try rows[0].decode("endpoints")
        troubles = try rows.compactMap { row in
            guard let name = try row.decode("name", as: String?.self) else { return nil }
            return Trouble(
                name: name,
                state: try row.decode("state"),
                why: try row.decode("why"),
                breaker: try row.decode("breaker"),
                failingSince: try row.decode("failing_since"),
                givenUp: try row.decode("given_up"),
                lastError: try row.decode("last_error")
            )
        }
    }
}
