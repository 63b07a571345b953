# Fails the build if an object compiled for one instruction set defines anything outside itself.
# Of several weak (inline, template) definitions the linker keeps one: were it the AVX-512 one, the
# baseline kernels would crash on older machines.
#   cmake -DNM=nm -DOBJECTS=a.o;b.o -P check_objects.cmake
foreach(object ${OBJECTS})
  execute_process(COMMAND ${NM} -C --defined-only --extern-only ${object}
    OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${NM} ${object} failed")
  endif()
  # A reference to the exception personality routine is data of this object alone.
  string(REGEX REPLACE "[^\n]* DW\\.ref\\.__gxx_personality_v0\n" "" symbols "${symbols}")
  string(STRIP "${symbols}" symbols)
  if(symbols)
    message(FATAL_ERROR "${object} defines symbols that other objects could get by mistake; put "
      "them into an anonymous namespace, or make them always_inline:\n${symbols}")
  endif()
endforeach()
