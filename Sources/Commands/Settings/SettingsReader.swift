import Configuration
import FoundationEssentials

/// Finds the text of each setting: flag over environment over credential over file over default.
///
/// The sources are swift-configuration's; they are asked one by one, for an operator has to be told which of them is wrong.
struct SettingsReader: Sendable {
    /// Where a text was found.
    struct Origin: Sendable {
        let text: String
        /// For people: `--listen`, `APPSTORE_INBOX_LISTEN`, `listen in /etc/…`.
        let place: String
    }

    private let flags: InMemoryProvider
    private let environment: EnvironmentVariablesProvider
    private let file: ConfigurationFile?
    /// Where systemd puts credentials; nil without any.
    let credentials: URL?

    /// Variables that begin like ours and mean nothing; worth a warning, for a misspelt setting is a silent default.
    let unknownVariables: [String]

    /// Reads the configuration file, if `--config` or `APPSTORE_INBOX_CONFIG` names one.
    ///
    /// - Parameters:
    ///   - flags: the text of each option that was given, by the setting's name.
    ///   - configPath: the value of `--config`.
    ///   - environment: of the process; its `CREDENTIALS_DIRECTORY` is where systemd puts `LoadCredential=`.
    /// - Throws: ``SettingsError`` when the file cannot be used.
    init(flags: [String: String], configPath: String? = nil, environment: [String: String]) throws(SettingsError) {
        let given = flags.map { (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: true)) }
        self.flags = InMemoryProvider(name: "flags", values: Dictionary(uniqueKeysWithValues: given))
        self.environment = EnvironmentVariablesProvider(environmentVariables: environment, secretsSpecifier: .all)
        let path = configPath ?? environment[Self.configVariable]
        self.file = if let path { try ConfigurationFile(path: path) } else { nil }
        self.credentials = environment["CREDENTIALS_DIRECTORY"].map { URL(filePath: $0, directoryHint: .isDirectory) }
        let known = Set(Settings.all.map(\.variable) + Self.otherVariables)
        self.unknownVariables = environment.keys.filter { $0.hasPrefix(SettingDescription.variablePrefix) && !known.contains($0) }.sorted()
    }

    private static let configVariable = "APPSTORE_INBOX_CONFIG"
    /// Not settings of a daemon: the file that holds them, and what the tests read.
    private static let otherVariables = [configVariable, "APPSTORE_INBOX_SAMPLES", "APPSTORE_INBOX_VECTORS"]

    /// The value of a setting that has a default or has to be given.
    func required<Value>(_ setting: Setting<Value>) throws(SettingsError) -> Value {
        guard let origin = try origin(of: setting.description) else { throw SettingsError([Self.missing(setting.description)]) }
        do {
            return try setting.parsed(origin.text)
        } catch {
            throw SettingsError([Self.problem(setting.description, origin, error)])
        }
    }

    /// The value of a setting that need not be given.
    func optional<Value>(_ setting: Setting<Value>) throws(SettingsError) -> Value? {
        guard try origin(of: setting.description) != nil else { return nil }
        return try required(setting)
    }

    /// Checks all of `settings` first, so that one start shows every problem.
    func requireValid(_ settings: [SettingDescription]) throws(SettingsError) {
        var problems: [String] = []
        for setting in settings {
            do {
                if let origin = try origin(of: setting) {
                    do { try setting.validate(origin.text) } catch { problems.append(Self.problem(setting, origin, error)) }
                } else if !Self.mayBeAbsent.contains(setting.name) {
                    problems.append(Self.missing(setting))
                }
            } catch {
                problems += error.problems
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems) }
    }

    /// Where the text of a setting comes from; nil when nothing gives one.
    func origin(of setting: SettingDescription) throws(SettingsError) -> Origin? {
        if let file = Self.secretFiles[setting.name] { return try secretOrigin(of: setting, file: file) }
        return try plainOrigin(of: setting)
    }

    /// The secrets, each with the setting that may name a file which holds it.
    private static let secretFiles = [
        Settings.databaseURL.description.name: Settings.databaseURLFile.description,
        Settings.apiDatabaseURL.description.name: Settings.apiDatabaseURLFile.description,
        Settings.sharedSecrets.description.name: Settings.sharedSecretsFile.description,
    ]
    private static let mayBeAbsent = Set(secretFiles.values.map(\.name) + (Settings.api + Settings.secrets).map(\.name))

    /// Where the text of a setting that is no secret comes from, or that of a secret which was given itself.
    func plainOrigin(of setting: SettingDescription) throws(SettingsError) -> Origin? {
        if let text = try text(of: setting.name, in: flags) { return Origin(text: text, place: setting.flag) }
        if let text = try text(of: setting.variable, in: environment) { return Origin(text: text, place: setting.variable) }
        if let file, let text = try text(of: setting.name, in: file.provider) {
            return Origin(text: text, place: "\(setting.name) in \(file.path)")
        }
        return setting.fallback.map { Origin(text: $0, place: "default") }
    }

    /// Of a secret: given itself, in a file that another setting names, or as the credential of systemd that has its name.
    private func secretOrigin(of setting: SettingDescription, file: SettingDescription) throws(SettingsError) -> Origin? {
        let given = try plainOrigin(of: setting)
        let named = try plainOrigin(of: file)
        if let given, let named {
            throw SettingsError(["\(given.place) and \(named.place) are both set: which one counts?"])
        }
        if let given { return given }
        if let named {
            let text = try secret(at: URL(filePath: named.text), named: named.place)
            return Origin(text: text, place: "\(named.text) (\(named.place))")
        }
        guard let credential = credentials?.appending(path: setting.name),
            FileManager.default.fileExists(atPath: credential.path)
        else { return nil }
        return Origin(text: try secret(at: credential, named: "the credential \(setting.name)"), place: credential.path)
    }

    private func secret(at url: URL, named name: String) throws(SettingsError) -> String {
        do {
            let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
            return String(text.reversed().drop { $0.isWhitespace }.reversed())
        } catch {
            throw SettingsError(["\(name): \(url.path) cannot be read"])
        }
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
            ? "\(origin.place): \(error.expectation)" : "\(origin.place): \(error.expectation), not \"\(origin.text)\""
    }

    private static func missing(_ setting: SettingDescription) -> String {
        "\(setting.name) is missing: set \(setting.variable) or \(setting.flag) (\(setting.summary))"
    }
}
