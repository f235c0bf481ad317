/// The settings of the console.
extension Settings {
    static let consoleListen = Setting(
        "console-listen",
        value: "HOST:PORT|unix:PATH",
        default: nil,
        summary: "where the console is served: this machine or a Unix socket, or, with console-origin, any address",
        parse: SettingValue.address
    )
    static let consoleOrigin = Setting(
        "console-origin",
        value: "https://HOST[:PORT]",
        default: nil,
        summary: "the origin that browsers see, where a proxy with TLS is in front of the console",
        parse: SettingValue.httpsOrigin
    )
    static let consoleReadOnly = Setting(
        "console-read-only",
        value: "on|off",
        default: "off",
        summary: "on lets the console change nothing",
        parse: SettingValue.toggle
    )
    static let consoleTrustedHeader = Setting(
        "console-trusted-header",
        value: "NAME",
        default: nil,
        summary: "the header field in which an authenticating proxy names the person; on a Unix socket only",
        parse: SettingValue.fieldName
    )
    static let consoleUsersFile = Setting(
        "console-users-file",
        value: "PATH",
        default: nil,
        summary: "a file of lines NAME viewer|operator [bodies]: whom the proxy may name",
        parse: SettingValue.nonEmpty
    )
    static let consoleAdminListen = Setting(
        "console-admin-listen",
        value: "HOST:PORT|unix:PATH|off",
        default: "off",
        summary: "where the console serves /livez, /readyz and /metrics",
        parse: SettingValue.addressOrOff
    )

    static let optionalConsole = [
        consoleOrigin.description, consoleTrustedHeader.description, consoleUsersFile.description,
    ]
    static let console =
        database + [consoleListen.description, consoleReadOnly.description, consoleAdminListen.description] + optionalConsole + common
}

extension SettingValue {
    /// `https://HOST[:PORT]`, as browsers write an origin: lower case, without a path.
    static func httpsOrigin(_ text: String) throws(InvalidSettingValue) -> String {
        let host = text.hasPrefix("https://") ? text.dropFirst("https://".count) : ""
        let isOrigin = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        guard !host.isEmpty, isOrigin, !host.hasSuffix(":443") else {
            throw InvalidSettingValue(expectation: "must be https://HOST or https://HOST:PORT, in lower case, without a path")
        }
        return text
    }

    /// The name of a header field (RFC 9110, section 5.1).
    static func fieldName(_ text: String) throws(InvalidSettingValue) -> String {
        let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard !text.isEmpty, isName else { throw InvalidSettingValue(expectation: "must be the name of a header field") }
        return text.lowercased()
    }
}
