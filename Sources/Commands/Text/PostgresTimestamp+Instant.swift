import AppStore
import Postgres

extension PostgresTimestamp {
    /// Parses an instant of ISO 8601 with its offset, such as `2026-01-31T12:00:00Z`, with up to six decimals; nil for other text.
    init?(instant text: String) {
        guard let match = text.wholeMatch(of: /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(Z|[+\-]\d{2}:\d{2})/),
            let second = Timestamp(rfc3339: Array("\(match.1):\(match.2 ?? "00")\(match.4)".utf8))
        else { return nil }
        let decimals = match.3 ?? ""
        let microseconds = Int64(decimals + String(repeating: "0", count: 6 - decimals.count)) ?? 0
        self.init(
            microsecondsSince2000: PostgresTimestamp(millisecondsSince1970: second.millisecondsSince1970).microsecondsSince2000
                + microseconds
        )
    }
}
