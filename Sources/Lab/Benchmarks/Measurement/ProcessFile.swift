import FoundationEssentials

/// Reads files of /proc, whose reported length is 0.
enum ProcessFile {
    static func text(_ path: String) throws(BenchmarkError) -> String {
        do {
            return String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        } catch {
            throw BenchmarkError(.system, "\(path) cannot be read: \(error)")
        }
    }
}
