package import Foundation

/// Prometheus' checker of metrics and rules, from Debian's package `prometheus`.
package enum Promtool {
    private static let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/promtool" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    package static var isInstalled: Bool { path != nil }

    /// Runs it to its end on a thread of its own.
    ///
    /// - Returns: What it printed, on both streams, after a line with its status unless that is 0.
    package static func run(_ arguments: [String], in folder: URL? = nil, input: String = "") async throws -> String {
        guard let path else { return "promtool is not installed" }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try run(path, arguments, folder, input) })
            }
        }
    }

    private static func run(_ path: String, _ arguments: [String], _ folder: URL?, _ input: String) throws -> String {
        let (process, source, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardInput = source
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try source.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try source.fileHandleForWriting.close()
        let found = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 ? found : "promtool ended with \(process.terminationStatus): \(found)"
    }
}
