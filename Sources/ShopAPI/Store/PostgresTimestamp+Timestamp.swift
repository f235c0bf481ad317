import AppStore
import Postgres

extension PostgresTimestamp {
    /// The instant in whole milliseconds, rounded down.
    var timestamp: Timestamp { Timestamp(millisecondsSince1970: millisecondsSince1970) }
}
