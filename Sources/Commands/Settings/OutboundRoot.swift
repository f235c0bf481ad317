import FoundationEssentials
import OpenSSL

/// A file with certificates that are trusted beside the system's when others are asked.
enum OutboundRoot {
    /// Looks whether a file can be used, so that a start fails at once and `--check-config` says so.
    ///
    /// - Throws: ``SettingsError`` that names it.
    static func check(_ path: String) throws(SettingsError) {
        let bytes: [UInt8]
        do {
            bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw SettingsError(["\(Settings.outboundRoots.description.name): \(path) cannot be read"])
        }
        do {
            _ = try Certificate.bundle(pem: bytes)
        } catch {
            throw SettingsError(["\(Settings.outboundRoots.description.name): \(path) holds no certificates in PEM: \(error)"])
        }
    }
}
