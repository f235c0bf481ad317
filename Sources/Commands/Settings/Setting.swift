/// One thing that can be configured: its name, and how its text is understood.
struct Setting<Value: Sendable>: Sendable {
    let description: SettingDescription
    private let parse: @Sendable (String) throws(InvalidSettingValue) -> Value

    /// - Parameters:
    ///   - name: lower-case words joined by hyphens, from which flag, variable and key of the file are derived.
    ///   - value: what a value looks like, in one word or two for a table.
    ///   - fallback: the text that stands for an absent value; nil makes the setting optional or required, as its reader says.
    init(
        _ name: String,
        value: String,
        default fallback: String?,
        isSecret: Bool = false,
        summary: String,
        parse: @escaping @Sendable (String) throws(InvalidSettingValue) -> Value
    ) {
        self.parse = parse
        self.description = SettingDescription(name: name, value: value, fallback: fallback, isSecret: isSecret, summary: summary) {
            text throws(InvalidSettingValue) in _ = try parse(text)
        }
    }

    /// The value that `text` stands for.
    func parsed(_ text: String) throws(InvalidSettingValue) -> Value {
        try parse(text)
    }
}

/// What a setting is called and what may be in it; a row of the table that `--check-config` prints.
struct SettingDescription: Sendable {
    /// The name in the configuration file, such as `admin-listen`.
    let name: String
    /// What a value looks like: `HOST:PORT`, `1…256`, `on|off`.
    let value: String
    /// The text that stands for an absent value.
    let fallback: String?
    /// Whether the value is never shown.
    let isSecret: Bool
    /// One line of explanation.
    let summary: String

    let validate: @Sendable (String) throws(InvalidSettingValue) -> Void

    /// The name on the command line, such as `--admin-listen`.
    var flag: String { "--\(name)" }

    /// The name in the environment, such as `APPSTORE_INBOX_ADMIN_LISTEN`.
    var variable: String { Self.variablePrefix + name.replacing("-", with: "_").uppercased() }

    static let variablePrefix = "APPSTORE_INBOX_"
}

/// Says what a value should have looked like.
struct InvalidSettingValue: Error {
    /// Never contains a secret.
    let expectation: String
    /// Whether ``expectation`` shows the value already.
    var namesValue = false
}
