import HTTPServing

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
