import Configuration

/// Finds the text of each setting: flag over environment over credential over file over default.
///
/// The sources are swift-configuration providers. They are read one by one, so that an error can name the source of a wrong value.
struct SettingsReader: Sendable {
    /// A text and its source.
    struct Origin: Sendable {
        let text: String
        /// The source, for messages: `--listen`, `APPSTORE_INBOX_LISTEN`, `listen in /etc/…`.
        let place: String
    }

    private let flags: InMemoryProvider
    private let environment: EnvironmentVariablesProvider
    private let file: ConfigurationFile?
    /// The folder of systemd's credentials; nil when there are none.
    let credentials: String?

    /// Variables with this program's prefix that are not settings, sorted: a misspelt name silently leaves the default.
    let unknownVariables: [String]

    /// Reads the configuration file, if `--config` or `APPSTORE_INBOX_CONFIG` names one.
    ///
    /// - Parameters:
    ///   - flags: the text of each given option, by the setting's name.
    ///   - configPath: the value of `--config`.
    ///   - environment: of the process; its `CREDENTIALS_DIRECTORY` is where systemd puts `LoadCredential=`.
    /// - Throws: ``SettingsError`` when the file cannot be used.
    init(flags: [String: String], configPath: String? = nil, environment: [String: String]) throws(SettingsError) {
        let given = flags.map { (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: true)) }
        self.flags = InMemoryProvider(name: "flags", values: Dictionary(uniqueKeysWithValues: given))
        self.environment = EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all)
        let path = configPath ?? environment[Self.configVariable]
        self.file = if let path { try ConfigurationFile(path: path) } else { nil }
        self.credentials = environment["CREDENTIALS_DIRECTORY"]
        let known = Set(Settings.all.map(\.variable) + Self.otherVariables)
        self.unknownVariables = environment.keys.filter { $0.hasPrefix(SettingDescription.variablePrefix) && !known.contains($0) }.sorted()
    }

    private static let configVariable = "APPSTORE_INBOX_CONFIG"
    /// Variables with the prefix that are not settings: the path of the configuration file, and variables of the build and the tests.
    private static let otherVariables = ["CONFIG", "COMMIT", "SAMPLES", "VECTORS", "CORPUS"].map { SettingDescription.variablePrefix + $0 }

    /// The value of a setting that is required or has a default.
    func required<Value>(_ setting: Setting<Value>) throws(SettingsError) -> Value {
        guard let origin = try origin(of: setting.description) else { throw SettingsError([Self.missing(setting.description)]) }
        do {
            return try setting.parsed(origin.text)
        } catch {
            throw SettingsError([Self.problem(setting.description, origin, error)])
        }
    }

    /// The value of an optional setting.
    func optional<Value>(_ setting: Setting<Value>) throws(SettingsError) -> Value? {
        guard try origin(of: setting.description) != nil else { return nil }
        return try required(setting)
    }

    /// The value of a setting, or nil where it has none or is invalid, which ``requireValid(_:and:)`` reports.
    func valid<Value>(_ setting: Setting<Value>) -> Value? {
        do { return try optional(setting) } catch { return nil }
    }

    /// Whether any source has a text for the setting, or one that cannot be read.
    func isGiven<Value>(_ setting: Setting<Value>) -> Bool {
        do { return try origin(of: setting.description) != nil } catch { return true }
    }

    /// Where the value of a setting comes from, for messages: `--listen`, `APPSTORE_INBOX_LISTEN`, `listen (default)`.
    func place<Value>(of setting: Setting<Value>) -> String {
        let name = setting.description.name
        do {
            guard let place = try origin(of: setting.description)?.place, place != Self.defaultPlace else { return "\(name) (default)" }
            return place
        } catch {
            return name
        }
    }

    /// Checks all of `settings`, so that one error reports every problem, including `others`.
    func requireValid(_ settings: [SettingDescription], and others: [String] = []) throws(SettingsError) {
        var problems: [String] = []
        for setting in settings {
            do {
                if setting.name == Settings.sharedSecrets.description.name {
                    _ = try sharedSecrets()
                } else if setting.name == Settings.apiKeysDirectory.name {
                    _ = try apiKeys()
                } else if let origin = try origin(of: setting) {
                    do { try setting.validate(origin.text) } catch { problems.append(Self.problem(setting, origin, error)) }
                } else if !Self.mayBeAbsent.contains(setting.name) {
                    problems.append(Self.missing(setting))
                }
            } catch {
                problems += error.problems
            }
        }
        problems += others
        guard problems.isEmpty else { throw SettingsError(problems) }
    }

    /// The text of a setting and its source; nil when no source has one.
    func origin(of setting: SettingDescription) throws(SettingsError) -> Origin? {
        if let file = Self.secretFiles[setting.name] { return try secretOrigin(of: setting, file: file) }
        return try plainOrigin(of: setting)
    }

    /// The secret settings, each with the setting that names a file with its value.
    private static let secretFiles = [
        Settings.databaseURL.description.name: Settings.databaseURLFile.description,
        Settings.apiDatabaseURL.description.name: Settings.apiDatabaseURLFile.description,
        Settings.apiStandbyURL.description.name: Settings.apiStandbyURLFile.description,
        Settings.sharedSecrets.description.name: Settings.sharedSecretsFile.description,
        Settings.webhookSecret.description.name: Settings.webhookSecretFile.description,
        Settings.outboundProxy.description.name: Settings.outboundProxyFile.description,
    ]
    private static let mayBeAbsent = Set(
        secretFiles.values.map(\.name)
            + (Settings.api + Settings.secrets + Settings.optionalWebhooks + Settings.optionalConsole).map(\.name)
            + [Settings.apiKeysDirectory.name]
    )

    /// The text of a setting from a flag, the environment or the configuration file, else the default.
    func plainOrigin(of setting: SettingDescription) throws(SettingsError) -> Origin? {
        if let text = try text(of: setting.name, in: flags) { return Origin(text: text, place: setting.flag) }
        if let text = try text(of: setting.variable, in: environment) { return Origin(text: text, place: setting.variable) }
        if let file, let text = try text(of: setting.name, in: file.provider) {
            return Origin(text: text, place: file.place(of: setting))
        }
        return setting.fallback.map { Origin(text: $0, place: Self.defaultPlace) }
    }

    private static let defaultPlace = "default"

    /// The text of a secret: given directly, in a file that another setting names, or in the systemd credential of the same name.
    private func secretOrigin(of setting: SettingDescription, file: SettingDescription) throws(SettingsError) -> Origin? {
        let given = try plainOrigin(of: setting)
        let named = try plainOrigin(of: file)
        if let given, let named {
            throw SettingsError(["\(given.place) and \(named.place) are both set: set only one"])
        }
        if let given { return given }
        if let named {
            return Origin(text: try Self.secret(at: named.text, named: named.place), place: "\(named.text) (\(named.place))")
        }
        guard let path = credentials.map({ "\($0)/\(setting.name)" }) else { return nil }
        do throws(ReadableFile.Unreadable) {
            return Origin(text: Self.text(try ReadableFile.bytes(at: path)), place: path)
        } catch {
            if error.isMissing { return nil }
            throw SettingsError(["the credential \(setting.name): \(path) cannot be read: \(error)"])
        }
    }

    private static func secret(at path: String, named name: String) throws(SettingsError) -> String {
        do throws(ReadableFile.Unreadable) {
            return text(try ReadableFile.bytes(at: path))
        } catch {
            throw SettingsError(["\(name): \(Self.shown(path)) cannot be read: \(error)"])
        }
    }

    /// The path of a secret's file, unless it may be the secret itself.
    static func shown(_ path: String) -> String {
        (path.hasPrefix("/") || path.hasPrefix(".")) && !path.mayHoldSecret ? path : "the file"
    }

    /// The text of a file without the line feed at its end.
    private static func text(_ bytes: [UInt8]) -> String {
        String(String(decoding: bytes, as: UTF8.self).reversed().drop { $0.isWhitespace }.reversed())
    }

    private func text(of key: String, in provider: some ConfigProvider) throws(SettingsError) -> String? {
        do {
            let found = try provider.value(forKey: AbsoluteConfigKey([key]), type: .string)
            guard case .string(let text)? = found.value?.content else { return nil }
            return text
        } catch {
            throw SettingsError(["\(key) cannot be read"])
        }
    }

    private static func problem(_ setting: SettingDescription, _ origin: Origin, _ error: InvalidSettingValue) -> String {
        setting.isSecret || error.namesValue
            ? "\(origin.place): \(error.expectation)" : "\(origin.place): \(error.expectation), not \(origin.text.quotedUnlessSecret)"
    }

    static func missing(_ setting: SettingDescription) -> String {
        "\(setting.name) is missing: set \(setting.variable) or \(setting.flag) (\(setting.summary))"
    }
}
