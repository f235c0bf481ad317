import Foundation

/// A payload that Apple signed, with what it holds.
package struct SignedSample: CorpusEntry {
    package let file: String
    /// `notification`, `transaction`, `renewalinfo` or `apptransaction`.
    package let kind: String
    package let notificationType: String?
    package let subtype: String?
    /// Nil for transactions and renewal infos of before 2022.
    package let environment: String?
    package let bundleId: String?
    package let appAppleId: Int64?
    /// Milliseconds since 1970.
    package let signedDate: Int64?

    /// The compact JWS.
    package func jws() throws -> [UInt8] {
        let folder = Corpus.folder?.appending(path: "jws") ?? Self.samples
        guard let folder else { return [] }
        return try Data(contentsOf: folder.appending(path: file)).filter { $0 > UInt8(ascii: " ") }
    }

    private static let samples = Corpus.folder(named: "APPSTORE_INBOX_SAMPLES")
    package static let areAbsent = Corpus.isAbsent && samples == nil

    /// Those of the corpus, or where there is none, the few in the folder that `APPSTORE_INBOX_SAMPLES` names.
    package static func all() throws -> [SignedSample] {
        if Corpus.folder != nil { return try Corpus.index(of: "jws") }
        guard let samples else { return [] }
        return try JSONDecoder().decode([SignedSample].self, from: Data(contentsOf: samples.appending(path: "index.json")))
    }
}
