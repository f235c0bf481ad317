import FoundationEssentials
package import Glibc

/// The fields of `/proc/PID/stat` (proc(5)) that benchmarks use.
package struct ProcessStatistics: Hashable, Sendable {
    package let parent: pid_t
    /// Processor time of the process itself, in clock ticks.
    package let ticks: Int
    /// Processor time of its children that have ended and were waited for, in clock ticks.
    package let childrenTicks: Int

    /// Parses a line of `/proc/PID/stat`; nil when it is malformed. The name in parentheses may hold any characters.
    package init?(_ line: String) {
        guard let end = line.lastIndex(of: ")") else { return nil }
        // From the third field on: state, ppid, …, utime (14), stime, cutime, cstime.
        let fields = line[line.index(after: end)...].split(separator: " ")
        guard fields.count > 14, let parent = pid_t(fields[1]) else { return nil }
        let times = fields[11...14].compactMap { Int($0) }
        guard times.count == 4 else { return nil }
        self.parent = parent
        ticks = times[0] + times[1]
        childrenTicks = times[2] + times[3]
    }

    /// Processor time of a running process.
    static func processorTime(of pid: pid_t) throws -> Duration {
        guard let statistics = Self(try ProcessFile.text("/proc/\(pid)/stat")) else {
            throw BenchmarkError(.system, "/proc/\(pid)/stat is malformed")
        }
        return duration(ticks: statistics.ticks)
    }

    /// Processor time of a process and of all its children, including those that have ended.
    static func processorTimeOfFamily(of pid: pid_t) throws -> Duration {
        var ticks = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let member = pid_t(name) else { continue }
            let statistics: ProcessStatistics?
            do {
                statistics = Self(try ProcessFile.text("/proc/\(member)/stat"))
            } catch {
                // The process has ended since; its parent's counters include it.
                continue
            }
            guard let statistics else { continue }
            if member == pid { ticks += statistics.ticks + statistics.childrenTicks }
            if statistics.parent == pid { ticks += statistics.ticks + statistics.childrenTicks }
        }
        return duration(ticks: ticks)
    }

    private static func duration(ticks: Int) -> Duration {
        .microseconds(ticks * 1_000_000 / max(1, sysconf(Int32(_SC_CLK_TCK))))
    }
}

/// The peak of a process's memory.
package enum PeakMemory {
    /// `VmHWM` of `/proc/PID/status`, in bytes; nil when there is none.
    package static func parse(_ status: String) -> Int? {
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 3, words[2] == "kB", let kilobytes = Int(words[1]) else { return nil }
            return kilobytes * 1024
        }
        return nil
    }

    static func ofProcess(_ pid: pid_t) throws -> Int {
        guard let bytes = parse(try ProcessFile.text("/proc/\(pid)/status")) else {
            throw BenchmarkError(.system, "/proc/\(pid)/status has no VmHWM")
        }
        return bytes
    }
}
