import AppStoreVerification
import Configuration
import HTTPServing
import ServerAPI

/// Finds the text of each setting: flag over environment over credential over file over default.
///
/// The sources are swift-configuration providers. They are read one by one, so that an error can name the source of a wrong value.
struct SettingsReader: Sendable {
    /// A text and its source.
    private struct Origin: Sendable {
        let text: String
        /// The source, for messages: `--listen`, `APPSTORE_INBOX_LISTEN`, `listen in /etc/…`.
        let place: String
    }

    private let flags: InMemoryProvider
    private let environment: EnvironmentVariablesProvider
    private let file: ConfigurationFile?
    /// The folder of systemd's credentials; nil when there are none.
    private let credentials: String?

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

    /// The text of a setting; nil when no source has one.
    func text(of setting: SettingDescription) throws(SettingsError) -> String? { try origin(of: setting)?.text }

    /// The same with its source.
    private func origin(of setting: SettingDescription) throws(SettingsError) -> Origin? {
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
    private func plainOrigin(of setting: SettingDescription) throws(SettingsError) -> Origin? {
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
    private static func shown(_ path: String) -> String {
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

/// What `--check-config` says.
extension SettingsReader {
    /// A daemon whose settings are checked.
    enum Scope: Sendable {
        case ingest, worker, console

        var settings: [SettingDescription] {
            switch self {
            case .ingest: Settings.ingest
            case .worker: Settings.worker
            case .console: Settings.console
            }
        }
    }

    /// A line for each setting with its effective value, or a redacted secret, and its source.
    ///
    /// - Throws: ``SettingsError`` with everything that a start refuses or warns about.
    func check(_ scope: Scope) throws(SettingsError) -> String {
        var problems: [String] = []
        do throws(SettingsError) {
            switch scope {
            case .ingest: _ = try IngestSettings(self)
            case .worker: _ = try WorkerSettings(self)
            case .console: _ = try ConsoleSettings(self)
            }
        } catch {
            problems = error.problems
        }
        problems += misspeltVariables
        if scope != .console { problems += strangeSecrets }
        if case .worker = scope { problems += strangeIssuers }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return try report(scope)
    }

    /// A sentence for each variable with this program's prefix that is not a setting. A start only warns of it.
    var misspeltVariables: [String] {
        unknownVariables.map { name in
            let meant = name.nearest(among: Settings.all.map(\.variable))
            return "\(name) is not a setting" + (meant.map { ": did you mean \($0)?" } ?? "")
        }
    }

    /// A sentence for each app that has a shared secret and is not configured. A start only warns of it.
    var strangeSecrets: [String] {
        guard let apps = valid(Settings.apps) else { return [] }
        let found: FoundSecrets?
        // The error is among the problems of the settings.
        do { found = try sharedSecrets() } catch { return [] }
        guard let found else { return [] }
        let known = Set(apps.map(\.bundleID))
        return found.secrets.counts.keys.filter { !known.contains($0) }.sorted().map { bundleID in
            "\(found.place): \(bundleID) has a shared secret and is not one of the apps"
        }
    }

    private func report(_ scope: Scope) throws(SettingsError) -> String {
        var rows: [[String]] = []
        for setting in scope.settings {
            if setting.name == Settings.sharedSecrets.description.name {
                if let found = try sharedSecrets() { rows.append([setting.name, found.summary, found.place]) }
                continue
            }
            if setting.name == Settings.apiKeysDirectory.name {
                guard let found = try apiKeys() else { continue }
                rows += found.keys.map {
                    ["api-keys", "issuer \($0.id.issuer) key \($0.id.keyID) SHA-256 \($0.fingerprint)", found.place]
                }
                continue
            }
            guard let origin = try origin(of: setting) else { continue }
            rows.append([setting.name, setting.isSecret ? "(secret)" : origin.text.isEmpty ? "(none)" : origin.text, origin.place])
        }
        return Columns.lines(rows).joined(separator: "\n")
    }
}

/// Reads the apps' shared secrets from a folder, one text, or systemd credentials. Errors name the source, never the content.
extension SettingsReader {
    /// Secrets and their source.
    struct FoundSecrets: Sendable {
        let secrets: SharedSecrets
        /// The source, for messages.
        let place: String

        /// The number of secrets for each app: `com.example.a: 2, com.example.b: 1`.
        var summary: String {
            secrets.counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        }
    }

    /// The shared secrets; nil when no source has any.
    ///
    /// - Throws: ``SettingsError`` when two sources have some, and when a file cannot be read or holds none.
    func sharedSecrets() throws(SettingsError) -> FoundSecrets? {
        let texts = [Settings.sharedSecrets.description, Settings.sharedSecretsFile.description]
        if let folder = try plainOrigin(of: Settings.sharedSecretsDirectory.description) {
            for text in texts {
                if let other = try plainOrigin(of: text) { throw Self.bothSet(folder.place, other.place) }
            }
            return try secrets(inFolder: folder)
        }
        for text in texts where try plainOrigin(of: text) != nil { return try secretsInText() }
        return try secretsInCredentials()
    }

    private func secrets(inFolder folder: Origin) throws(SettingsError) -> FoundSecrets {
        let names = try Self.names(in: folder.text, of: folder.place)
        // The names of files that Kubernetes and editors add begin with a dot.
        let files = names.filter { !$0.hasPrefix(".") }.map { (bundleID: $0, path: "\(folder.text)/\($0)") }
        guard !files.isEmpty else { throw SettingsError(["\(folder.place): \(Self.shown(folder.text)) holds no file"]) }
        return FoundSecrets(secrets: try Self.secrets(in: files), place: "\(folder.text) (\(folder.place))")
    }

    private func secretsInText() throws(SettingsError) -> FoundSecrets? {
        guard let origin = try origin(of: Settings.sharedSecrets.description) else { return nil }
        return FoundSecrets(secrets: try required(Settings.sharedSecrets), place: origin.place)
    }

    /// `LoadCredential=shared-secrets:PATH` provides a file as `shared-secrets`, and each file of a folder as `shared-secrets_NAME`.
    private func secretsInCredentials() throws(SettingsError) -> FoundSecrets? {
        let prefix = Settings.sharedSecrets.description.name + "_"
        let inText = try secretsInText()
        guard let credentials else { return inText }
        let names = try Self.names(in: credentials, of: "CREDENTIALS_DIRECTORY", mayBeMissing: true).filter { $0.hasPrefix(prefix) }
        guard !names.isEmpty else { return inText }
        let place = "\(credentials)/\(prefix)*"
        if let inText { throw Self.bothSet(inText.place, place) }
        let files = names.map { (bundleID: String($0.dropFirst(prefix.count)), path: "\(credentials)/\($0)") }
        return FoundSecrets(secrets: try Self.secrets(in: files), place: place)
    }

    private static func bothSet(_ one: String, _ other: String) -> SettingsError {
        SettingsError(["\(one) and \(other) are both set: set only one"])
    }

    private static func names(in folder: String, of place: String, mayBeMissing: Bool = false) throws(SettingsError) -> [String] {
        do throws(ReadableFile.Unreadable) {
            return try ReadableFile.names(in: folder)
        } catch {
            if mayBeMissing, error.isMissing { return [] }
            throw SettingsError(["\(place): \(Self.shown(folder)) cannot be read: \(error)"])
        }
    }

    private static func secrets(in files: [(bundleID: String, path: String)]) throws(SettingsError) -> SharedSecrets {
        var secrets: [String: [String]] = [:]
        var problems: [String] = []
        for (bundleID, path) in files {
            guard SettingValue.isBundleID(bundleID) else {
                let folder = path.dropLast(bundleID.count)
                problems.append(
                    "\(folder): a file of shared secrets must be named as a bundle id, not \(bundleID.count) characters of another kind"
                )
                continue
            }
            do {
                guard let text = String(validating: try ReadableFile.bytes(at: path), as: UTF8.self) else {
                    throw InvalidSettingValue(expectation: "is not text")
                }
                secrets[bundleID] = try SettingValue.secrets(inLines: text)
            } catch let error as InvalidSettingValue {
                problems.append("\(path): \(error.expectation)")
            } catch {
                problems.append("\(path) cannot be read: \(error)")
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return SharedSecrets(secrets)
    }
}

/// Reads the In-App Purchase keys from a folder, or from systemd's credentials. Errors name the file, never the content.
extension SettingsReader {
    /// Keys and their source.
    struct FoundAPIKeys: Sendable {
        /// In the order of their ids.
        let keys: [APIKey]
        /// The source, for messages.
        let place: String
    }

    private struct KeyFile {
        let path: String
        let issuer: String
        let name: String
    }

    private static let keysName = "api-keys"

    /// The keys; nil when no source has any.
    ///
    /// `LoadCredential=api-keys:PATH` provides each file below a folder as `api-keys_ISSUER_NAME`: systemd joins the path by underscores. Other
    /// programs keep the folders.
    ///
    /// - Throws: ``SettingsError`` with all files that are no such keys.
    func apiKeys() throws(SettingsError) -> FoundAPIKeys? {
        if let folder = try plainOrigin(of: Settings.apiKeysDirectory.description) {
            let files = try Self.keyFiles(in: folder.text, of: folder.place)
            guard !files.isEmpty else { throw SettingsError(["\(folder.place): \(Self.shown(folder.text)) holds no folder with a key"]) }
            return FoundAPIKeys(keys: try Self.keys(in: files), place: "\(folder.text) (\(folder.place))")
        }
        guard let credentials else { return nil }
        let names = try Self.names(in: credentials, of: "CREDENTIALS_DIRECTORY", mayBeMissing: true)
        let prefix = Self.keysName + "_"
        var files = names.filter { $0.hasPrefix(prefix) }.map { name in
            let parts = name.dropFirst(prefix.count).split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return KeyFile(path: "\(credentials)/\(name)", issuer: parts[0], name: parts.count > 1 ? parts[1] : "")
        }
        if names.contains(Self.keysName) { files += try Self.keyFiles(in: "\(credentials)/\(Self.keysName)", of: "CREDENTIALS_DIRECTORY") }
        return files.isEmpty ? nil : FoundAPIKeys(keys: try Self.keys(in: files), place: "\(credentials)/\(Self.keysName)*")
    }

    /// A sentence for each app whose keys cannot be told from the settings, and for each issuer without a key.
    var strangeIssuers: [String] {
        let found: FoundAPIKeys?
        // The error is among the problems of the settings.
        do { found = try apiKeys() } catch { return [] }
        guard let found, let apps = valid(Settings.apps)?.map(\.bundleID), let issuers = valid(Settings.apiIssuers) else { return [] }
        let known = Set(found.keys.map(\.id.issuer))
        let place = self.place(of: Settings.apiIssuers)
        let unknown = issuers.filter { !known.contains($0.value) }.keys.sorted().map { "\(place): there is no key of the issuer of \($0)" }
        let open = known.count == 1 ? [] : apps.filter { issuers[$0] == nil }
        return unknown + open.map { "\(found.place): there are keys of several issuers; api-issuers must name the one of \($0)" }
    }

    /// The files in the folders of a folder. Names that begin with a dot are those of editors and Kubernetes.
    private static func keyFiles(in folder: String, of place: String) throws(SettingsError) -> [KeyFile] {
        var files: [KeyFile] = []
        for issuer in try names(in: folder, of: place) where !issuer.hasPrefix(".") {
            let path = "\(folder)/\(issuer)"
            do throws(ReadableFile.Unreadable) {
                let names = try ReadableFile.names(in: path).filter { !$0.hasPrefix(".") }
                files += names.map { KeyFile(path: "\(path)/\($0)", issuer: issuer, name: $0) }
            } catch {
                // A file that is in no folder of an issuer is refused by its name.
                guard error.isMissing else { throw SettingsError(["\(place): \(shown(path)) cannot be read: \(error)"]) }
                files.append(KeyFile(path: path, issuer: "", name: issuer))
            }
        }
        return files
    }

    private static func keys(in files: [KeyFile]) throws(SettingsError) -> [APIKey] {
        var keys: [APIKey] = []
        var problems: [String] = []
        for file in files {
            do {
                let id = try APIKeyFile.id(issuer: file.issuer, name: file.name)
                if keys.contains(where: { $0.id == id }) { throw APIKeyFile.Unusable(repeated: id) }
                keys.append(try APIKeyFile.key(id, try ReadableFile.bytes(at: file.path)))
            } catch let error as ReadableFile.Unreadable {
                problems.append("\(file.path) cannot be read: \(error)")
            } catch {
                problems.append("\(file.path) \(error)")
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return keys.sorted { $0.id.keyID < $1.id.keyID }
    }
}

/// The headers that each endpoint gets beside those of a webhook, by the endpoint's name.
typealias WebhookHeaders = [String: [(name: String, value: String)]]

/// Reads the fixed headers of endpoints from a folder, or from systemd's credentials. Errors name the file and line, never the content.
extension SettingsReader {
    private static let suffix = ".headers"

    /// The headers; empty where no source has any.
    ///
    /// `LoadCredential=webhook-headers:PATH` provides each file of a folder as `webhook-headers_NAME`.
    ///
    /// - Throws: ``SettingsError`` with all that is wrong.
    func webhookHeaders() throws(SettingsError) -> WebhookHeaders {
        if let folder = try plainOrigin(of: Settings.webhookHeadersDirectory.description) {
            return try Self.headers(in: folder.text, prefix: "", of: folder.place)
        }
        guard let credentials else { return [:] }
        return try Self.headers(in: credentials, prefix: "webhook-headers_", of: "CREDENTIALS_DIRECTORY", mayBeMissing: true)
    }

    private static func headers(
        in folder: String,
        prefix: String,
        of place: String,
        mayBeMissing: Bool = false
    ) throws(SettingsError) -> WebhookHeaders {
        var headers: WebhookHeaders = [:]
        var problems: [String] = []
        for name in try names(in: folder, of: place, mayBeMissing: mayBeMissing) where name.hasPrefix(prefix) && !name.hasPrefix(".") {
            let path = "\(folder)/\(name)"
            guard name.hasSuffix(suffix), case let endpoint = String(name.dropFirst(prefix.count).dropLast(suffix.count)), !endpoint.isEmpty
            else {
                problems.append("\(path): the name must be that of an endpoint, and end in \(suffix)")
                continue
            }
            do throws(ReadableFile.Unreadable) {
                headers[endpoint] = fields(in: String(decoding: try ReadableFile.bytes(at: path), as: UTF8.self), path, &problems)
            } catch {
                problems.append("\(path) cannot be read: \(error)")
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return headers
    }

    private static func fields(in text: String, _ path: String, _ problems: inout [String]) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = SettingValue.trimmed(line)
            guard !line.isEmpty, line.first != "#" else { continue }
            let place = "\(path), line \(index + 1)"
            guard let colon = line.firstIndex(of: ":"), case let name = String(line[..<colon]), isFieldName(name) else {
                problems.append("\(place): is not NAME: value")
                continue
            }
            let value = SettingValue.trimmed(line[line.index(after: colon)...])
            if isReserved(name.lowercased()) {
                problems.append("\(place): \(name) is set by the program")
            } else if !value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
                problems.append("\(place): the value of \(name) has characters that are not printable ASCII")
            } else {
                fields.append((name, String(value)))
            }
        }
        return fields
    }

    /// RFC 9110, section 5.1: a token.
    private static func isFieldName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// What a webhook has anyway, and what decides where a message ends.
    private static func isReserved(_ name: String) -> Bool {
        name.hasPrefix("webhook-") || ["host", "content-length", "content-type", "transfer-encoding", "connection", "te"].contains(name)
    }
}
