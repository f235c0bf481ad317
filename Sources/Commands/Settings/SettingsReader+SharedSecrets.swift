import AppStoreVerification

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

    static func names(in folder: String, of place: String, mayBeMissing: Bool = false) throws(SettingsError) -> [String] {
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
