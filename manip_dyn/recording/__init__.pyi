from manip_dyn.recording.reader import Command as Command
from manip_dyn.recording.reader import Message as Message
from manip_dyn.recording.reader import MessageReader as MessageReader
from manip_dyn.recording.reader import Recording as Recording
from manip_dyn.recording.reader import read as read
from manip_dyn.recording.recorder import Recorder as Recorder
from manip_dyn.recording.results import record as record
