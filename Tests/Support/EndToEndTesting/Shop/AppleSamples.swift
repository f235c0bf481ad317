package import Foundation

/// Payloads that Apple signed, in a folder outside the project: a file for each, and `index.json`, which describes them.
package enum AppleSamples {
    package struct Sample: Decodable {
        package let file: String
        package let kind: String
        package let notificationType: String?
        package let bundleId: String?
    }

    package struct Notification: Sendable {
        package let file: String
        package let notificationType: String?
        package let bundleID: String
        /// The body as Apple posts it.
        package let body: [UInt8]
    }

    /// The folder that `APPSTORE_INBOX_SAMPLES` names.
    package static var folder: URL? {
        ProcessInfo.processInfo.environment["APPSTORE_INBOX_SAMPLES"].map { URL(filePath: $0, directoryHint: .isDirectory) }
    }

    package static func all() throws -> [Sample] {
        guard let folder else { return [] }
        return try JSONDecoder().decode([Sample].self, from: Data(contentsOf: folder.appending(path: "index.json")))
    }

    /// The compact JWS in a file.
    package static func jws(_ file: String) throws -> [UInt8] {
        guard let folder else { return [] }
        return try Data(contentsOf: folder.appending(path: file)).filter { $0 > UInt8(ascii: " ") }
    }

    package static func notifications() throws -> [Notification] {
        try all().filter { $0.kind == "notification" }.map { sample in
            let body = Array(#"{"signedPayload":""#.utf8) + (try jws(sample.file)) + Array(#""}"#.utf8)
            return Notification(file: sample.file, notificationType: sample.notificationType, bundleID: sample.bundleId ?? "", body: body)
        }
    }
}
