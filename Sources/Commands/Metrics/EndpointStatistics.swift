import Postgres
import SQL

/// How far endpoints and named consumers of the feed are.
struct EndpointStatistics: Statistics {
    struct Endpoint: Sendable {
        let name: String
        let state: String
        /// Entries after its position.
        let lag: Int64
        /// The age of the oldest entry that it wants and has not got; nil when there is none.
        let oldestUndelivered: Duration?
        let open: Int64
        let givenUp: Int64
    }

    let endpoints: [Endpoint]
    /// Entries that each consumer has not taken.
    let consumers: [(name: String, lag: Int64)]

    /// For the role worker.
    static let statement = Statement.endpointReadStatistics()

    init(_ row: Row) throws {
        let (names, states): ([String], [String]) = (try row.decode("names"), try row.decode("states"))
        let (lags, oldest): ([Int64], [Double?]) = (try row.decode("lags"), try row.decode("oldest"))
        let (open, givenUp): ([Int64], [Int64]) = (try row.decode("open"), try row.decode("given_up"))
        endpoints = names.indices.map { index in
            Endpoint(
                name: names[index],
                state: states[index],
                lag: lags[index],
                oldestUndelivered: oldest[index].map { .seconds(max($0, 0)) },
                open: open[index],
                givenUp: givenUp[index]
            )
        }
        consumers = Array(zip(try row.decode("consumers", as: [String].self), try row.decode("consumer_lags", as: [Int64].self)))
    }
}
