import CLibPQ

/// One keyword of a connection string with its value.
struct ConnectionSetting: Sendable {
    let keyword: String
    let value: String

    var isSecret: Bool { keyword == "password" || keyword == "sslpassword" }

    static func parse(_ conninfo: String) throws(PostgresError) -> [ConnectionSetting] {
        guard !conninfo.utf8.contains(0) else { throw PostgresError(.invalidOptions, "the connection string contains a NUL character") }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(conninfo, &message) else {
            defer { PQfreemem(message) }
            let text = message.map { String(cString: $0) } ?? "out of memory"
            throw PostgresError(.invalidOptions, "connection string: " + withoutSecrets(PostgresError.firstLine(of: text), of: conninfo))
        }
        defer { PQconninfoFree(options) }
        var settings: [ConnectionSetting] = []
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                settings.append(ConnectionSetting(keyword: String(cString: keyword), value: String(cString: value)))
            }
            option += 1
        }
        for setting in settings { try setting.validate(mayShowValue: !mayHoldSecret(conninfo)) }
        return settings
    }

    /// Removes the quoted parts of libpq's message where the connection string may contain a password, as they may contain some of it.
    private static func withoutSecrets(_ message: String, of conninfo: String) -> String {
        guard mayHoldSecret(conninfo) else { return message }
        let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            index.isMultiple(of: 2) ? String(part) : part.count <= 1 ? "\"\(part)\"" : "(not shown)"
        }.joined()
    }

    private static func mayHoldSecret(_ conninfo: String) -> Bool {
        let isURL = conninfo.hasPrefix("postgresql://") || conninfo.hasPrefix("postgres://")
        if isURL && (conninfo.contains("@") || conninfo.contains("%")) { return true }
        return conninfo.lowercased().contains("password")
    }
}

extension [ConnectionSetting] {
    func value(of keyword: String) -> String? {
        last { $0.keyword == keyword && !$0.value.isEmpty }?.value
    }
}
