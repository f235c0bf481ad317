import Glibc

/// What the kernel knows of this process; nil where it does not tell.
enum ProcessUsage {
    /// Seconds since 1970. The kernel counts from the boot of the machine.
    static var startTime: Double? {
        // After the name in parentheses: the 22nd field of proc(5)'s stat is the 20th.
        guard let ticks = fields(of: "/proc/self/stat", after: ")")?.dropFirst(19).first.flatMap(Double.init) else { return nil }
        return time(CLOCK_REALTIME) - time(CLOCK_BOOTTIME) + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    static var processorTime: Double? { time(CLOCK_PROCESS_CPUTIME_ID) }

    static var residentMemory: Double? {
        guard let pages = fields(of: "/proc/self/statm", after: nil)?.dropFirst().first.flatMap(Double.init) else { return nil }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    static var openDescriptors: Double? {
        do throws(ReadableFile.Unreadable) {
            // One of them reads the folder.
            return Double(try ReadableFile.names(in: "/proc/self/fd").count - 1)
        } catch {
            return nil
        }
    }

    static var maximumDescriptors: Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Double(limit.rlim_cur)
    }

    private static func fields(of path: String, after separator: Character?) -> [Substring]? {
        do throws(ReadableFile.Unreadable) {
            let text = String(decoding: try ReadableFile.bytes(at: path), as: UTF8.self)
            let start = separator.flatMap { text.lastIndex(of: $0) }.map { text.index(after: $0) } ?? text.startIndex
            return text[start...].split { $0.isWhitespace }
        } catch {
            return nil
        }
    }

    private static func time(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
