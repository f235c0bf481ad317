import AppStoreVerification
import FoundationEssentials

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
        let url = URL(filePath: folder.text, directoryHint: .isDirectory)
        let names = try Self.names(in: url, of: folder.place)
        // The names of files that Kubernetes and editors add begin with a dot.
        let files = names.filter { !$0.hasPrefix(".") }.map { (bundleID: $0, url: url.appending(path: $0)) }
        guard !files.isEmpty else { throw SettingsError(["\(folder.place): \(url.path) holds no file"]) }
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
        guard let credentials, FileManager.default.fileExists(atPath: credentials.path) else { return inText }
        let names = try Self.names(in: credentials, of: "CREDENTIALS_DIRECTORY").filter { $0.hasPrefix(prefix) }
        guard !names.isEmpty else { return inText }
        let place = credentials.appending(path: prefix).path + "*"
        if let inText { throw Self.bothSet(inText.place, place) }
        let files = names.map { (bundleID: String($0.dropFirst(prefix.count)), url: credentials.appending(path: $0)) }
        return FoundSecrets(secrets: try Self.secrets(in: files), place: place)
    }

    private static func bothSet(_ one: String, _ other: String) -> SettingsError {
        SettingsError(["\(one) and \(other) are both set: set only one"])
    }

    private static func names(in folder: URL, of place: String) throws(SettingsError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        } catch {
            throw SettingsError(["\(place): \(folder.path) cannot be read"])
        }
    }

    private static func secrets(in files: [(bundleID: String, url: URL)]) throws(SettingsError) -> SharedSecrets {
        var secrets: [String: [String]] = [:]
        var problems: [String] = []
        for (bundleID, url) in files {
            guard SettingValue.isBundleID(bundleID) else {
                problems.append("\(url.path): a file of shared secrets must be named as a bundle id")
                continue
            }
            do {
                guard let text = String(validating: try Data(contentsOf: url), as: UTF8.self) else {
                    throw InvalidSettingValue(expectation: "is not text")
                }
                secrets[bundleID] = try SettingValue.secrets(inLines: text)
            } catch let error as InvalidSettingValue {
                problems.append("\(url.path): \(error.expectation)")
            } catch {
                problems.append("\(url.path) cannot be read")
            }
        }
        guard problems.isEmpty else { throw SettingsError(problems) }
        return SharedSecrets(secrets)
    }
}
