import AppStore
import Postgres

extension PostgresTimestamp {
    init(_ timestamp: Timestamp) {
        self.init(millisecondsSince1970: timestamp.millisecondsSince1970)
    }

    init?(_ timestamp: Timestamp?) {
        guard let timestamp else { return nil }
        self.init(timestamp)
    }
}
