import AppStoreVerification
import ServerAPI

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
