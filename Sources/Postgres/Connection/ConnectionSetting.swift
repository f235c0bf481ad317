import CLibPQ

/// One keyword of a connection string with its value.
struct ConnectionSetting: Sendable {
    let keyword: String
    let value: String

    var isSecret: Bool { keyword == "password" || keyword == "sslpassword" }

    /// Parses what libpq accepts, and refuses what it would misread. Errors contain no part of `conninfo`.
    static func parse(_ conninfo: String) throws(PostgresError) -> [ConnectionSetting] {
        let isURL = ConnectionStringMistake.isURL(conninfo)
        guard !conninfo.utf8.contains(0) else { throw .connectionString("it contains a NUL character") }
        // libpq takes a space for a part of the password or the host.
        guard !isURL || conninfo.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw .connectionString("a URL must not contain a space or a control character: a space is written %20")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(conninfo, &message) else {
            defer { PQfreemem(message) }
            let text = message.map { String(cString: $0) } ?? ""
            throw .connectionString(ConnectionStringMistake(text, of: conninfo).description)
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
        for setting in settings { try setting.validate(inURL: isURL) }
        return settings
    }
}

extension PostgresError {
    fileprivate static func connectionString(_ mistake: String) -> PostgresError {
        PostgresError(.invalidOptions, "connection string: \(mistake)")
    }
}

extension [ConnectionSetting] {
    func value(of keyword: String) -> String? {
        last { $0.keyword == keyword && !$0.value.isEmpty }?.value
    }
}
