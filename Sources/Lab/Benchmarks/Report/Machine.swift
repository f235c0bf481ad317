import FoundationEssentials

/// The machine and the programs of a measurement.
package struct Machine: Hashable, Sendable, Encodable {
    package let processor: String
    package let cores: Int
    package let kernel: String
    /// The output of `openssl version`; nil when it was not used.
    package var openssl: String?
    /// The output of `postgres --version`; nil when it was not used.
    package var postgres: String?
    /// How PostgreSQL was configured; nil when it was not used.
    package var postgresSettings: String?
    /// Reasons to distrust figures from this machine.
    package var warnings: [String] = []

    /// This machine.
    package static func current() throws -> Machine {
        let information = try ProcessFile.text("/proc/cpuinfo").split(separator: "\n")
        let model = information.first { $0.hasPrefix("model name") }?.split(separator: ":").last.map { $0.trimmed }
        let kernel = try ProcessFile.text("/proc/sys/kernel/osrelease").trimmed
        var machine = Machine(processor: model ?? "unknown processor", cores: processorCount, kernel: "Linux \(kernel)")
        if isDebugBuild { machine.warnings.append("this is a debug build: build with -c release") }
        return machine
    }

    /// The processors that this process may use.
    static var processorCount: Int { ProcessInfo.processInfo.activeProcessorCount }

    private init(processor: String, cores: Int, kernel: String) {
        self.processor = processor
        self.cores = cores
        self.kernel = kernel
    }

    private static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}

extension Machine: CustomStringConvertible {
    package var description: String {
        let programs = [kernel, openssl, postgres].compactMap(\.self).joined(separator: ", ")
        let settings = postgresSettings.map { "; \($0)" } ?? ""
        return "\(processor), \(cores) \(cores == 1 ? "core" : "cores"); \(programs)\(settings)"
    }
}

extension StringProtocol {
    /// Without white space at its ends.
    var trimmed: String {
        let isSpace: (Character) -> Bool = \.isWhitespace
        let start = firstIndex { !isSpace($0) } ?? endIndex
        let end = lastIndex { !isSpace($0) }.map { index(after: $0) } ?? start
        return String(self[start..<end])
    }
}
