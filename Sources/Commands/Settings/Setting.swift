/// A setting: its name, and how its text is parsed.
struct Setting<Value: Sendable>: Sendable {
    let description: SettingDescription
    private let parse: @Sendable (String) throws(InvalidSettingValue) -> Value

    /// - Parameters:
    ///   - name: lower-case words joined by hyphens, from which flag, variable and key of the file are derived.
    ///   - value: the form of a value in a word or two, for a table.
    ///   - fallback: the text used when no value is given; nil where the setting is required, or is read as optional.
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

    /// The name in the configuration file.
    var name: String { description.name }

    /// Parses `text`.
    func parsed(_ text: String) throws(InvalidSettingValue) -> Value {
        try parse(text)
    }
}

/// The name and the form of a setting; a row of the table that `--check-config` prints.
struct SettingDescription: Sendable {
    /// The name in the configuration file, such as `admin-listen`.
    let name: String
    /// The form of a value: `HOST:PORT`, `1…256`, `on|off`.
    let value: String
    /// The text used when no value is given.
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

/// An invalid value; says what was expected.
struct InvalidSettingValue: Error {
    /// Never contains a secret.
    let expectation: String
    /// Whether ``expectation`` already contains the value.
    var namesValue = false
}

/// All problems of the configuration. Each names the setting, its source, and what was expected.
///
/// Never retryable: the service ends with ``exitCode``, and its unit does not restart it.
struct SettingsError: Error, Equatable, CustomStringConvertible {
    let problems: [String]

    /// EX_CONFIG of sysexits.h.
    static let exitCode: Int32 = 78

    init(_ problems: [String]) {
        self.problems = problems
    }

    var description: String { problems.joined(separator: "\n") }
}
